# The collectives that move data without combining it, and the barrier.
#
# Each has two barriers. The first lets nobody write into (or read from) a rank that is still busy with
# what it did before the call; the second lets nobody leave while others still read or write it. With one
# of them only, a fast rank's next call overwrites what a slow rank has not read yet.

@pl.jit.inline
def barrier(signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]]):
    """No rank returns before every rank has called. One barrier; no data."""
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        meet(signal, me, n, 1)
        clear(signal, me, n, 1)


@pl.jit.inline
def broadcast(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    root: pl.Scalar[pl.INDEX],
):
    """data of every rank becomes root's: everybody else reads it. B bytes per rank."""
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        meet(signal, me, n, 1)
        if me != root:
            pld.get(data, root, data)
        meet(signal, me, n, 2)
        clear(signal, me, n, 2)


@pl.jit.inline
def allgather(
    local: pl.Tensor[[1, N], T],
    target: pl.InOut[pld.DistributedTensor[[R, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
):
    """target[r, :] of every rank becomes rank r's local. Everybody writes its row to everybody, starting
    with the next rank: n * B bytes written per rank, B being one row."""
    ctx = pld.get_comm_ctx(target)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    meet(signal, me, n, 1)
    for i in pl.range(1, n + 1):
        pld.put(target, (me + i) % n, local, [me, 0], [0, 0], [1, N])
    meet(signal, me, n, 2)
    clear(signal, me, n, 2)


@pl.jit.inline
def all_to_all(
    input: pl.Tensor[[R, N], T],
    target: pl.InOut[pld.DistributedTensor[[R, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
):
    """Row s of rank r's target becomes row r of rank s's input. Everybody writes one row to everybody,
    starting with the next rank: n * B bytes written per rank, B being one row."""
    ctx = pld.get_comm_ctx(target)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    meet(signal, me, n, 1)
    for i in pl.range(1, n + 1):
        to = (me + i) % n
        pld.put(target, to, input, [me, 0], [to, 0], [1, N])
    meet(signal, me, n, 2)
    clear(signal, me, n, 2)


@pl.jit.inline
def reduce_scatter(
    data: pl.InOut[pld.DistributedTensor[[R, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
):
    """Row r of rank r's data becomes the reduction of everybody's row r. n * B bytes read, B written.

    Rank r's own row r is read by rank r only, so the result replaces it chunk by chunk.
    """
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        meet(signal, me, n, 1)
        for at in pl.range(0, N, CHUNK):
            size = pl.min(N - at, CHUNK)
            pl.store(narrow(reduce_chunk(data, me, at, size, n, op, CHUNK), data), [me, at], data)
        meet(signal, me, n, 2)
        clear(signal, me, n, 2)
