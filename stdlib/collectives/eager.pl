# All-reduce of small messages in one hop: every rank puts its message into a slot at each peer and says so;
# whoever has heard from all reduces what lies in its own slots. Nobody waits until others have read.
#
# SLOTS are memory that programs do not declare. A pass adds two windows (AddEagerSlots):
#   slots [2, M], two halves that calls use in turn. In a half every rank has a slot for each rank's message,
#     of whole cache lines;
#   turns [1 + 2 * ranks, 16] INT32, a cell a line. Cell 0 is the rank's own: which of its four turns the next
#     call takes. Then two for each rank, one a half: the mark that it has put a message there.
#
# WHY two halves are enough. A rank ends call c only when it has heard from everyone in call c. So nobody
# is further than one call ahead of anybody, and while a slow rank reads the half of call c, a fast one may
# write that of call c + 1, but not yet c + 2. Slots may be cut differently in each call.
#
# WHY marks and not credits. A cell has one writer, which sets it to 1 and 2 in turn: it need not be taken
# back, and a set is a plain store, where an atomic add waits until all earlier stores have left the core. The
# next set of the same cell is two calls later, when the reader has seen this one: a wait for equality cannot
# miss it.
#
# COST. Each rank writes n messages and n - 1 marks: n * (n - 1) messages travel, and one hop is all the
# latency; against central (allreduce.pl), where 2 * (n - 1) travel in two hops. So it pays as long as few lines travel.

@pl.jit.inline
def slot_chunk(
    slots: pl.InOut[pld.DistributedTensor[[2, M], T]],
    half: pl.Scalar[pl.INDEX],
    at: pl.Scalar[pl.INDEX],
    size: pl.Scalar[pl.INDEX],
    cap: pl.Const[int],
):
    """size elements of a slot, widened."""
    y = widen(pl.load(slots, [half, at], [1, cap], valid_shape=[1, size]))
    return y


@pl.jit.inline
def eager_pair(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    slots: pl.InOut[pld.DistributedTensor[[2, M], T]],
    half: pl.Scalar[pl.INDEX],
    me: pl.Scalar[pl.INDEX],
    stride: pl.Scalar[pl.INDEX],
    size: pl.Scalar[pl.INDEX],
    op: pl.Const[pld.ReduceOp],
    cap: pl.Const[int],
):
    """What two ranks do with each other's message: their own need not go through a slot."""
    if me == 0:
        first = widen(pl.load(data, [0, 0], [1, cap], valid_shape=[1, size]))
        out = combine(first, slot_chunk(slots, half, stride, size, cap), op)
        pl.store(narrow(out, data), [0, 0], data)
    else:
        second = widen(pl.load(data, [0, 0], [1, cap], valid_shape=[1, size]))
        out = combine(slot_chunk(slots, half, 0, size, cap), second, op)
        pl.store(narrow(out, data), [0, 0], data)


@pl.jit.inline
def allreduce_eager(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    slots: pl.InOut[pld.DistributedTensor[[2, M], T]],
    turns: pl.InOut[pld.DistributedTensor[[C, L], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
    cap: pl.Const[int],
    line: pl.Const[int],
):
    """All-reduce of at most cap elements, of which a cache line holds line."""
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        size = pl.min(N, cap)
        stride = (size + line - 1) // line * line
        turn = pl.cast(pl.read(turns, [0, 0]), pl.INDEX) % 4
        pl.write(turns, [0, 0], pl.cast((turn + 1) % 4, pl.INT32))
        half = turn % 2
        mark = turn // 2 + 1
        for i in pl.range(1, n):
            pld.put(slots, (me + i) % n, data, [half, me * stride], [0, 0], [1, size])
        for i in pl.range(1, n):
            pld.notify(turns, (me + i) % n, [1 + 2 * me + half, 0], mark, op=pld.NotifyOp.Set)
        if n > 2:
            pl.store(
                pl.load(data, [0, 0], [1, cap], valid_shape=[1, size]), [half, me * stride], slots
            )
        for i in pl.range(1, n):
            pld.wait(turns, [1 + 2 * ((me + i) % n) + half, 0], mark, cmp=pld.WaitCmp.Eq)
        if n == 2:
            eager_pair(data, slots, half, me, stride, size, op, cap)
        else:
            acc = slot_chunk(slots, half, 0, size, cap)
            for p in pl.range(1, n):
                acc = combine(acc, slot_chunk(slots, half, p * stride, size, cap), op)
            pl.store(narrow(acc, data), [0, 0], data)


@pl.jit.inline
def allreduce_small(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    slots: pl.InOut[pld.DistributedTensor[[2, M], T]],
    turns: pl.InOut[pld.DistributedTensor[[C, L], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
    cap: pl.Const[int],
    line: pl.Const[int],
    lines: pl.Const[int],
):
    """The choice where the number of ranks or the length is known only when the kernel runs: eager if at most
    so many lines travel. All ranks know the same numbers, so they agree."""
    n = pld.nranks(pld.get_comm_ctx(data))
    if n * (n - 1) * pl.max((N + line - 1) // line, 1) <= lines:
        allreduce_eager(data, slots, turns, op, cap, line)
    else:
        allreduce_central(data, signal, op)


@pl.jit.inline
def allreduce_any(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    slots: pl.InOut[pld.DistributedTensor[[2, M], T]],
    turns: pl.InOut[pld.DistributedTensor[[C, L], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
    cap: pl.Const[int],
    line: pl.Const[int],
    lines: pl.Const[int],
    small: pl.Const[int],
    large: pl.Const[int],
):
    """allreduce_small up to small elements, then push."""
    if N <= small:
        allreduce_small(data, signal, slots, turns, op, cap, line, lines)
    else:
        allreduce_push_by_size(data, signal, op, large)
