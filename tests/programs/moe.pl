# A mixture of experts by hand: each token goes to its K experts, wherever they are, and comes back.
#
# Indices are data: which rows are sent, and to whom, is known only when the kernel reads them.
#
# dispatch: for each of my tokens and each of its experts, the token is put into the next free row of my
#           part of the owner's window, with the expert's number in tag. Then the number of rows, then a notify.
# compute:  each rank waits for the rows of all ranks and applies its experts, row by row, in place.
# combine:  each rank waits for all ranks, fetches its rows back, weighs and adds them.
# There is no third barrier: the next call writes my rows at an owner only when I put them there, or after
# my next notify, and by then I have fetched them.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
TOKENS = 128
TOP = 6
HIDDEN = 8
LOCAL = 4  # experts of a rank
ROWS = TOKENS * TOP


@pl.jit.inline
def meet(signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]], count: pl.Scalar[pl.INDEX]):
    """Barrier number count of this call."""
    ctx = pld.get_comm_ctx(signal)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for i in pl.range(1, n):
        pld.notify(signal, (me + i) % n, [me, 0], 1)
    for i in pl.range(1, n):
        pld.wait(signal, [(me + i) % n, 0], count)


@pl.jit.incore
def moe(
    x: pl.Tensor[[TOKENS, HIDDEN], pl.FP32],
    expert: pl.Tensor[[TOKENS, TOP], pl.INT32],
    weight: pl.Tensor[[TOKENS, TOP], pl.FP32],
    y: pl.Out[pl.Tensor[[TOKENS, HIDDEN], pl.FP32]],
    rows: pl.InOut[pld.DistributedTensor[[NR * ROWS, HIDDEN], pl.FP32]],
    tag: pl.InOut[pld.DistributedTensor[[NR, ROWS], pl.INT32]],
    sent: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(rows)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)

    used = pl.array.create(64, pl.INT32)
    for t in pl.range(TOKENS):
        for k in pl.range(TOP):
            e = pl.read(expert, [t, k])
            owner = e // LOCAL
            slot = used[owner]
            pld.put(rows, owner, x, [me * ROWS + slot, 0], [t, 0], [1, HIDDEN])
            pld.remote_store(pl.full([1, 1], pl.INT32, e % LOCAL), tag, owner, [me, slot])
            used[owner] = slot + 1
    for p in pl.range(n):
        pld.remote_store(pl.full([1, 1], pl.INT32, used[p]), sent, p, [me, 0])
    meet(signal, 1)

    for p in pl.range(n):
        count = pl.read(sent, [p, 0])
        for s in pl.range(count):
            scale = pl.cast(pl.read(tag, [p, s]) + me * LOCAL + 1, pl.FP32)
            row = pl.load(rows, [p * ROWS + s, 0], [1, HIDDEN])
            pl.store(row * scale, [p * ROWS + s, 0], rows)
    meet(signal, 2)

    again = pl.array.create(64, pl.INT32)
    for t in pl.range(TOKENS):
        acc = pl.full([1, HIDDEN], pl.FP32, 0.0)
        for k in pl.range(TOP):
            owner = pl.read(expert, [t, k]) // LOCAL
            slot = again[owner]
            got = pld.remote_load(rows, owner, [me * ROWS + slot, 0], [1, HIDDEN])
            acc = acc + got * pl.read(weight, [t, k])
            again[owner] = slot + 1
        pl.store(acc, [t, 0], y)
    for i in pl.range(1, n):
        pld.notify(signal, me, [(me + i) % n, 0], -2)


@pl.jit.host
def main(
    x: pl.Tensor[[NR, TOKENS, HIDDEN], pl.FP32],
    expert: pl.Tensor[[NR, TOKENS, TOP], pl.INT32],
    weight: pl.Tensor[[NR, TOKENS, TOP], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, TOKENS, HIDDEN], pl.FP32]],
):
    rows = pld.alloc_window_buffer([NR * ROWS, HIDDEN], dtype=pl.FP32)
    tag = pld.alloc_window_buffer([NR, ROWS], dtype=pl.INT32)
    sent = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        moe(
            x[r],
            expert[r],
            weight[r],
            y[r],
            pld.window(rows, [NR * ROWS, HIDDEN], dtype=pl.FP32),
            pld.window(tag, [NR, ROWS], dtype=pl.INT32),
            pld.window(sent, [NR, 1], dtype=pl.INT32),
            pld.window(signal, [NR, 1], dtype=pl.INT32),
            device=r,
        )


@pl.golden(of=main)
def expected(x, expert, weight, y):
    for r in pl.range(NR):
        for t in pl.range(TOKENS):
            acc = pl.full([1, 1, HIDDEN], pl.FP32, 0.0)
            for k in pl.range(TOP):
                acc = acc + x[r : r + 1, t : t + 1, :] * (pl.cast(expert[r, t, k] + 1, pl.FP32) * weight[r, t, k])
            y[r : r + 1, t : t + 1, :] = acc
