# All-reduce, in place: data of every rank becomes the reduction over all ranks' data.
#
# Two algorithms; the compiler picks by the size of the message unless mode= names one. Both take a
# signal of at least one row per rank, any rank count, any length, and give the same bits everywhere.
#
# oneshot, for messages of a few hundred bytes: barrier, everybody reads everything from everybody,
#   barrier (nobody may overwrite what others still read), everybody stores its own copy.
#   Per rank: 2 barriers, (n - 1) * B bytes read, B written.
#
# push, for everything else (the segment-owner form of reduce-scatter + all-gather): the message is cut
#   into n segments. Barrier; rank r reads segment r from every rank, reduces it, and stores the result
#   into segment r of every rank; barrier. Nobody else touches segment r, so this works in place.
#   Per rank: 2 barriers, B bytes read, B written: the least that any algorithm on shared memory moves.
#   Large messages are stored past the caches (stream): the reader is another core, later.

@pl.jit.inline
def allreduce_oneshot(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
    cap: pl.Const[int],
):
    """All-reduce of at most cap elements."""
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        meet(signal, me, n, 1)
        out = narrow(reduce_chunk(data, 0, 0, pl.min(N, cap), n, op, cap), data)
        meet(signal, me, n, 2)
        pl.store(out, [0, 0], data)
        clear(signal, me, n, 2)


@pl.jit.inline
def push_segment(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    lo: pl.Scalar[pl.INDEX],
    hi: pl.Scalar[pl.INDEX],
    me: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
    op: pl.Const[pld.ReduceOp],
    stream: pl.Const[bool],
):
    """Reduces data[lo : hi] over all ranks and stores it to all of them, starting with the next rank."""
    for at in pl.range(lo, hi, CHUNK):
        size = pl.min(hi - at, CHUNK)
        out = narrow(reduce_chunk(data, 0, at, size, n, op, CHUNK), data)
        for i in pl.range(1, n + 1):
            pld.remote_store(out, data, (me + i) % n, [0, at], stream=stream)


@pl.jit.inline
def push_pair(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    lo: pl.Scalar[pl.INDEX],
    hi: pl.Scalar[pl.INDEX],
    op: pl.Const[pld.ReduceOp],
    stream: pl.Const[bool],
):
    """push_segment for two ranks: one loop that reads both, adds, and writes both."""
    for at in pl.range(lo, hi, CHUNK):
        size = pl.min(hi - at, CHUNK)
        out = narrow(
            combine(
                peer_chunk(data, 0, 0, at, size, CHUNK), peer_chunk(data, 1, 0, at, size, CHUNK), op
            ),
            data,
        )
        pld.remote_store(out, data, 0, [0, at], stream=stream)
        pld.remote_store(out, data, 1, [0, at], stream=stream)


@pl.jit.inline
def allreduce_push(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
    stream: pl.Const[bool],
):
    """All-reduce in which each rank reduces and distributes its own segment."""
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        seg = ((N + n - 1) // n + LINE - 1) // LINE * LINE
        lo = pl.min(me * seg, N)
        hi = pl.min(lo + seg, N)
        meet(signal, me, n, 1)
        if n == 2:
            push_pair(data, lo, hi, op, stream)
        else:
            push_segment(data, lo, hi, me, n, op, stream)
        meet(signal, me, n, 2)
        clear(signal, me, n, 2)


@pl.jit.inline
def allreduce_push_by_size(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
    large: pl.Const[int],
):
    """allreduce_push where the length is known only when the kernel runs: streaming from large elements."""
    if N < large:
        allreduce_push(data, signal, op, False)
    else:
        allreduce_push(data, signal, op, True)


@pl.jit.inline
def allreduce_by_size(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
    small: pl.Const[int],
    large: pl.Const[int],
):
    """The choice of mode="auto" where the length is known only when the kernel runs: oneshot up to small
    elements. All ranks have the same length, so they agree."""
    if N <= small:
        allreduce_oneshot(data, signal, op, small)
    else:
        allreduce_push_by_size(data, signal, op, large)
