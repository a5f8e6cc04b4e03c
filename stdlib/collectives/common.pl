# What every collective is made of: credits, segments, and reading a chunk from every rank.
#
# CREDITS. A signal is a window of INT32 cells, zero when a collective starts and zero again when the
# last rank has left it. Cell [src, 0] on a rank counts what rank src has told it. One barrier is: add
# 1 to cell [me, 0] of every other rank, then wait until each of my cells [src, 0] holds at least the
# number of barriers so far in this call. At the end of a call, and only then, each rank subtracts from
# its own cells what this call put there. Three rules make that safe to repeat on the same cells without
# any reset:
#   - waits ask for "at least": a fast rank may already have added its first credit of the next call;
#   - nobody is further ahead than that one credit, since its next barrier needs one from here;
#   - the subtraction is an atomic add, so it cannot lose such an early credit as setting 0 would.
# A barrier costs a rank n - 1 notifies and n - 1 waits. It is one hop deep, and a hang names the rank
# that did not come: the cell says it.
#
# EVERY COLLECTIVE HERE PROMISES: it touches a peer's memory only after that peer has entered the call,
# and when it returns on a rank, no other rank touches that rank's memory any more. So calls may follow
# each other, and whatever else the program does with its windows, without waiting in between.
#
# ORDER. Reductions combine rank 0, 1, 2, ... whoever computes them: all ranks get the same bits.
# FP16 and BF16 are combined in FP32 and rounded once.

T = pl.dtype_var("T")  # element type of the data
A = pl.dtype_var("A")  # element type of the accumulator
R = pl.dynamic("R")    # rows of the data
N = pl.dynamic("N")    # elements per row
S = pl.dynamic("S")    # rows of the signal
W = pl.dynamic("W")    # columns of the signal
C = pl.dynamic("C")    # cells of the turns (eager.pl)
L = pl.dynamic("L")    # and their columns
M = pl.dynamic("M")    # any other extent

CHUNK = 2048  # elements of one tile: 8 KiB of FP32 stay in the first-level cache
LINE = 32     # segments start at multiples of this: no two ranks write one cache line


@pl.jit.inline
def arrive(
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    me: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
):
    """Tells every other rank that this one has come so far."""
    for i in pl.range(1, n):
        pld.notify(signal, (me + i) % n, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)


@pl.jit.inline
def await_all(
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    me: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
    count: pl.Scalar[pl.INDEX],
):
    """Waits until every other rank has arrived count times in this call."""
    for i in pl.range(1, n):
        pld.wait(signal, [(me + i) % n, 0], count, cmp=pld.WaitCmp.Ge)


@pl.jit.inline
def clear(
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    me: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
    count: pl.Scalar[pl.INDEX],
):
    """Takes back the count credits that each other rank gave in this call."""
    for i in pl.range(1, n):
        pld.notify(signal, me, [(me + i) % n, 0], -count, op=pld.NotifyOp.AtomicAdd)


@pl.jit.inline
def meet(
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    me: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
    count: pl.Scalar[pl.INDEX],
):
    """Barrier number count of this call."""
    arrive(signal, me, n)
    await_all(signal, me, n, count)


@pl.jit.inline
def widen(x: pl.Tile[[1, N], T]):
    """The tile in the type that it is accumulated in."""
    if T == pl.FP16 or T == pl.BF16:
        y = pl.cast(x, pl.FP32)
    else:
        y = x
    return y


@pl.jit.inline
def narrow(x: pl.Tile[[1, N], A], like: pld.DistributedTensor[[R, M], T]):
    """The tile in the element type of like."""
    if A == T:
        y = x
    else:
        y = pl.cast(x, T)
    return y


@pl.jit.inline
def combine(a: pl.Tile[[1, N], A], b: pl.Tile[[1, N], A], op: pl.Const[pld.ReduceOp]):
    """One step of the reduction, element by element."""
    if op == pld.ReduceOp.Sum:
        y = a + b
    elif op == pld.ReduceOp.Max:
        y = pl.max(a, b)
    elif op == pld.ReduceOp.Min:
        y = pl.min(a, b)
    else:
        y = a * b
    return y


@pl.jit.inline
def peer_chunk(
    data: pl.InOut[pld.DistributedTensor[[R, N], T]],
    peer: pl.Scalar[pl.INDEX],
    row: pl.Scalar[pl.INDEX],
    at: pl.Scalar[pl.INDEX],
    size: pl.Scalar[pl.INDEX],
    cap: pl.Const[int],
):
    """data[row, at : at + size] of a peer, widened; size is at most cap."""
    x = pld.remote_load(data, peer, [row, at], [1, cap], valid_shape=[1, size])
    y = widen(x)
    return y


@pl.jit.inline
def reduce_chunk(
    data: pl.InOut[pld.DistributedTensor[[R, N], T]],
    row: pl.Scalar[pl.INDEX],
    at: pl.Scalar[pl.INDEX],
    size: pl.Scalar[pl.INDEX],
    n: pl.Scalar[pl.INDEX],
    op: pl.Const[pld.ReduceOp],
    cap: pl.Const[int],
):
    """The reduction of data[row, at : at + size] over all ranks, in rank order, not yet narrowed.

    Four ranks are read in one loop, so that the sum stays in registers for four additions.
    """
    acc = peer_chunk(data, 0, row, at, size, cap)
    quads = (n - 1) // 4
    for q in pl.range(quads):
        p = q * 4 + 1
        acc = combine(acc, peer_chunk(data, p, row, at, size, cap), op)
        acc = combine(acc, peer_chunk(data, p + 1, row, at, size, cap), op)
        acc = combine(acc, peer_chunk(data, p + 2, row, at, size, cap), op)
        acc = combine(acc, peer_chunk(data, p + 3, row, at, size, cap), op)
    for p in pl.range(quads * 4 + 1, n):
        acc = combine(acc, peer_chunk(data, p, row, at, size, cap), op)
    return acc
