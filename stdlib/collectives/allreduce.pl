# All-reduce, in place: data of every rank becomes the reduction over all ranks' data.
#
# Three algorithms; eager.pl and ring.pl have one more each. The compiler picks by the size of the message
# unless mode= names one. All take a signal of at least one row per rank, any rank count, any length, and give the same bits everywhere.
#
# central, for messages of up to a few thousand bytes: everybody tells rank 0, which reads everything,
#   reduces it, stores the result to everybody, and tells them. Rank 0 reads and writes n * B bytes, the
#   others nothing; but two messages a rank are all the signalling, where a barrier takes n - 1, and each
#   rank waits once, not twice: with more ranks than cores that is half of the switches.
#
# oneshot, where rank 0 must not be the bottleneck (it is on links that are not memory): barrier, everybody
#   reads everything from everybody, barrier (nobody may overwrite what others still read), everybody
#   stores its own copy. Per rank: 2 barriers, (n - 1) * B bytes read, B written.
#
# push, for everything else (the segment-owner form of reduce-scatter + all-gather): the message is cut
#   into n segments. Barrier; rank r reads segment r from every rank, reduces it, and stores the result
#   into segment r of every rank; barrier. Nobody else touches segment r, so this works in place.
#   Per rank: 2 barriers, B bytes read, B written: the least that any algorithm on shared memory moves.
#   Large messages are stored past the caches (stream): the reader is another core, later.

@pl.jit.inline
def allreduce_central(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
):
    """All-reduce in which rank 0 does it all."""
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        if me == 0:
            await_all(signal, 0, n, 1)
            for at in pl.range(0, N, CHUNK):
                out = narrow(reduce_chunk(data, 0, at, pl.min(N - at, CHUNK), n, op, CHUNK), data)
                for p in pl.range(n):
                    pld.remote_store(out, data, p, [0, at])
            arrive(signal, 0, n)
            clear(signal, 0, n, 1)
        else:
            # As long as rank 0 has not told, it may still use this rank's memory; nobody else does. Its
            # credit is taken back before it comes, while there is time for that.
            pld.notify(signal, 0, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
            pld.notify(signal, me, [0, 0], -1, op=pld.NotifyOp.AtomicAdd)
            pld.wait(signal, [0, 0], 0, cmp=pld.WaitCmp.Ge)


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
    central: pl.Const[bool],
):
    """The choice where the length is known only when the kernel runs: central or oneshot up to small
    elements. All ranks have the same length, so they agree."""
    if N <= small:
        if central:
            allreduce_central(data, signal, op)
        else:
            allreduce_oneshot(data, signal, op, small)
    else:
        allreduce_push_by_size(data, signal, op, large)
