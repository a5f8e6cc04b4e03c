# All-reduce on a ring: reduce-scatter, then all-gather, n - 1 steps each, all data from the left.
#
# The message is cut into n segments. In step s of the first half a rank reads segment me - s - 1 from its
# left neighbour and adds its own: after n - 1 steps segment j has been through every rank, beginning at
# rank j, and rank j - 1 holds its whole reduction. In the second half finished segments travel on.
# Per rank: 2 (n - 1) / n * B bytes read, as many written, 2 (n - 1) steps one after the other. On shared
# memory push moves less in fewer steps; this is for links where only neighbours are near.
#
# Only neighbours signal each other. Row 0 of the signal counts the left neighbour's finished steps, row 1
# says that the right one has read everything:
#   - a segment is read from the left after the credit of the step that finished it there;
#   - the left rank writes a segment again only when it comes back reduced. By then it has been through
#     here, which is a chain of credits from my read to that write: no second barrier is needed;
#   - only the right neighbour ever reads here, and everybody writes at home only: when the right one has
#     said that it is done, this rank may return.
# The signal has upstream's shape [2 (n - 1), n], of which two rows are used.
#
# ORDER. Segment j is combined in the order j, j + 1, ..., j - 1 by exactly one rank per step, and then
# copied: the same bits everywhere. Each step combines in FP32, but the partial result lies in the window
# between the steps: FP16 and BF16 are rounded once a step, n - 1 times in all.

@pl.jit.inline
def ring_reduce(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    left: pl.Scalar[pl.INDEX],
    lo: pl.Scalar[pl.INDEX],
    hi: pl.Scalar[pl.INDEX],
    op: pl.Const[pld.ReduceOp],
):
    """data[lo : hi] = left's data[lo : hi] (op) data[lo : hi]."""
    for at in pl.range(lo, hi, CHUNK):
        size = pl.min(hi - at, CHUNK)
        theirs = peer_chunk(data, left, 0, at, size, CHUNK)
        mine = pl.load(data, [0, at], [1, CHUNK], valid_shape=[1, size])
        pl.store(narrow(combine(theirs, widen(mine), op), data), [0, at], data)


@pl.jit.inline
def allreduce_ring(
    data: pl.InOut[pld.DistributedTensor[[1, N], T]],
    signal: pl.InOut[pld.DistributedTensor[[S, W], pl.INT32]],
    op: pl.Const[pld.ReduceOp],
):
    """All-reduce by neighbours."""
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    if n > 1:
        seg = ((N + n - 1) // n + LINE - 1) // LINE * LINE
        left = (me + n - 1) % n
        right = (me + 1) % n
        last = 2 * (n - 1)
        for s in pl.range(last):
            pld.notify(signal, right, [0, me], 1, op=pld.NotifyOp.AtomicAdd)
            pld.wait(signal, [0, left], s + 1, cmp=pld.WaitCmp.Ge)
            # Step s moves segment me - s - 1: in the second half that is the one that left has just got.
            j = (me + last - s + 1) % n
            lo = pl.min(j * seg, N)
            hi = pl.min(lo + seg, N)
            if s < n - 1:
                ring_reduce(data, left, lo, hi, op)
            else:
                pld.get(data, left, data, [0, lo], [0, lo], [1, hi - lo])
        pld.notify(signal, left, [1, me], 1, op=pld.NotifyOp.AtomicAdd)
        pld.wait(signal, [1, right], 1, cmp=pld.WaitCmp.Ge)
        pld.notify(signal, me, [0, left], -last, op=pld.NotifyOp.AtomicAdd)
        pld.notify(signal, me, [1, right], -1, op=pld.NotifyOp.AtomicAdd)
