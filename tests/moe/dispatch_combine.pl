# ranks: 1,2,4,8
# repeats: 2
#
# Mixture of experts over NR ranks: each rank routes its tokens to the experts with the best scores, pushes them
# to the ranks that have these experts, and adds up what comes back. Where a token goes is data.
#
#   route      picks TOPK experts for each of T tokens, and gives each a slot among the tokens of its expert
#   dispatch   pushes tokens, and how many there are for each expert, to the ranks that own the experts
#   experts    waits for a rank's tokens, applies the expert (a weight per column), pushes the results back
#   combine    waits for the results, and adds them up, weighted by their scores
#
# Each pair of ranks has a cell of its own for each direction; its owner takes the credit back after the
# wait, so that calls may follow each other. NE must be a multiple of the number of ranks.

import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
T = 4  # tokens of a rank
D = 4  # columns of a token
NE = 8  # experts of all ranks together
TOPK = 2


@pl.jit.inline
def route(
    scores: pl.Tensor[[T, NE], pl.FP32],
    picked: pl.Out[pl.Tensor[[T, TOPK], pl.INT32]],
    slot: pl.Out[pl.Tensor[[T, TOPK], pl.INT32]],
    count: pl.InOut[pl.Tensor[[1, NE], pl.INT32]],
):
    taken = pl.create_tensor([1, NE], pl.INT32)
    for e in pl.range(NE):
        pl.write(count, [0, e], 0)
    for t in pl.range(T):
        for e in pl.range(NE):
            pl.write(taken, [0, e], 0)
        for k in pl.range(TOPK):
            best = pl.const(-1, pl.INT32)
            most = pl.const("-inf", pl.FP32)
            for e in pl.range(NE):
                s = pl.read(scores, [t, e])
                better = pl.read(taken, [0, e]) == 0 and s > most
                best = pl.sel(better, pl.cast(e, pl.INT32), best)
                most = pl.sel(better, s, most)
            at = pl.read(count, [0, best])
            pl.write(picked, [t, k], best)
            pl.write(slot, [t, k], at)
            pl.write(count, [0, best], at + 1)
            pl.write(taken, [0, best], 1)


@pl.jit.incore
def moe(
    x: pl.Tensor[[T, D], pl.FP32],
    scores: pl.Tensor[[T, NE], pl.FP32],
    w: pl.Tensor[[NE, D], pl.FP32],
    y: pl.Out[pl.Tensor[[T, D], pl.FP32]],
    inbox: pl.InOut[pld.DistributedTensor[[NE * T, D], pl.FP32]],
    counts: pl.InOut[pld.DistributedTensor[[1, NE], pl.INT32]],
    outbox: pl.InOut[pld.DistributedTensor[[NE * T, D], pl.FP32]],
    arrived: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
    returned: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
):
    ctx = pld.get_comm_ctx(inbox)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    local = NE // n  # experts of a rank

    picked = pl.create_tensor([T, TOPK], pl.INT32)
    slot = pl.create_tensor([T, TOPK], pl.INT32)
    count = pl.create_tensor([1, NE], pl.INT32)
    route(scores, picked, slot, count)

    # Expert e of rank p is its e % local-th; rank me's tokens for it lie at row (me * local + e % local) * T.
    for t in pl.range(T):
        for k in pl.range(TOPK):
            e = pl.read(picked, [t, k])
            row = (me * local + e % local) * T + pl.read(slot, [t, k])
            pld.tile.remote_store(
                pl.load(x, [t, 0], [1, D]), inbox, peer=e // local, offsets=[row, 0]
            )
    for p in pl.range(n):
        for e in pl.range(local):
            c = pl.full([1, 1], pl.INT32, pl.read(count, [0, p * local + e]))
            pld.tile.remote_store(c, counts, peer=p, offsets=[0, me * local + e])
        pld.notify(arrived, p, [me, 0], 1)

    for i in pl.range(n):
        src = (me + i) % n
        pld.wait(arrived, [src, 0], 1)
        pld.notify(arrived, me, [src, 0], -1)
        for e in pl.range(local):
            weight = pl.load(w, [me * local + e, 0], [1, D])
            for s in pl.range(pl.read(counts, [0, src * local + e])):
                token = pl.load(inbox, [(src * local + e) * T + s, 0], [1, D])
                pld.tile.remote_store(
                    token * weight, outbox, peer=src, offsets=[(me * local + e) * T + s, 0]
                )
        pld.notify(returned, src, [me, 0], 1)

    for p in pl.range(n):
        pld.wait(returned, [p, 0], 1)
        pld.notify(returned, me, [p, 0], -1)
    for t in pl.range(T):
        acc = pl.full([1, D], pl.FP32, 0.0)
        for k in pl.range(TOPK):
            e = pl.read(picked, [t, k])
            gate = pl.read(scores, [t, e])
            acc = acc + pl.load(outbox, [e * T + pl.read(slot, [t, k]), 0], [1, D]) * gate
        pl.store(acc, [t, 0], y)


@pl.jit.host
def main(
    x: pl.Tensor[[NR, T, D], pl.FP32],
    scores: pl.Tensor[[NR, T, NE], pl.FP32],
    w: pl.Tensor[[NE, D], pl.FP32],
    y: pl.Out[pl.Tensor[[NR, T, D], pl.FP32]],
):
    inbox = pld.alloc_window_buffer([NE * T, D], dtype=pl.FP32)
    counts = pld.alloc_window_buffer([1, NE], dtype=pl.INT32)
    outbox = pld.alloc_window_buffer([NE * T, D], dtype=pl.FP32)
    arrived = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    returned = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        moe(
            x[r],
            scores[r],
            w,
            y[r],
            pld.window(inbox, [NE * T, D], dtype=pl.FP32),
            pld.window(counts, [1, NE], dtype=pl.INT32),
            pld.window(outbox, [NE * T, D], dtype=pl.FP32),
            pld.window(arrived, [NR, 1], dtype=pl.INT32),
            pld.window(returned, [NR, 1], dtype=pl.INT32),
            device=r,
        )


@pl.golden(of=main)
def expected(x, scores, w, y):
    for r in pl.range(NR):
        for t in pl.range(T):
            acc = pl.full([1, D], pl.FP32, 0.0)
            for e in pl.range(NE):
                s = pl.read(scores, [r, t, e])
                above = pl.const(0, pl.INT32)  # experts that come before e
                for f in pl.range(NE):
                    o = pl.read(scores, [r, t, f])
                    above = above + pl.sel(o > s or (o == s and f < e), 1, 0)
                if above < TOPK:
                    acc = acc + pl.load(x[r], [t, 0], [1, D]) * pl.load(w, [e, 0], [1, D]) * s
            pl.store(acc, [t, 0], y[r])
