// Kernels for the tests of the engine, as the code generator writes them.
// Sites are numbers that the tests know.

extern "C" i32 empty(ptoc_ctx*, const i64*) { return 0; }

// y[i] += x[i] for n floats
extern "C" i32 add(ptoc_ctx*, const i64* a) {
    const f32* __restrict x = (const f32*)a[0];
    f32* __restrict y = (f32*)a[1];
    for (i64 i = 0; i < a[2]; ++i) y[i] += x[i];
    return 0;
}

// out[device] = device, ndevices, the integer and the float that were passed
extern "C" i32 report(ptoc_ctx* ctx, const i64* a) {
    f64 f;
    __builtin_memcpy(&f, &a[2], 8);
    f64* out = (f64*)a[0] + 4 * ctx->device;
    out[0] = ctx->device; out[1] = ctx->ndevices; out[2] = f64(a[1]); out[3] = f;
    return 0;
}

static i32 barrier(ptoc_ctx* ctx, const ptoc_domain* d, i64 off, i32 round) {
    for (i32 p = 0; p < d->nranks; ++p)
        if (p != d->rank) ptoc_notify(ctx, d, p, (i32*)(d->base[p] + off), 1, PTOC_NOTIFY_ADD);
    return ptoc_wait(ctx, d, (i32*)(d->base[d->rank] + off), round * (d->nranks - 1), PTOC_CMP_GE, 7);
}

// domain, offset of the signal cell, rounds so far, rounds
extern "C" i32 barriers(ptoc_ctx* ctx, const i64* a) {
    const ptoc_domain* d = (const ptoc_domain*)a[0];
    for (i64 i = 1; i <= a[3]; ++i)
        if (i32 s = barrier(ctx, d, a[1], i32(a[2] + i))) return s;
    return 0;
}

// Each rank writes into its right neighbour's window, signals, and sums what it
// got: domain, offset of data, offset of signal, round, out (heap, i64 a rank)
extern "C" i32 ring_shift(ptoc_ctx* ctx, const i64* a) {
    const ptoc_domain* d = (const ptoc_domain*)a[0];
    i32 right = (d->rank + 1) % d->nranks;
    i64* there = (i64*)(d->base[right] + a[1]);
    for (i64 i = 0; i < 100; ++i) there[i] = a[3] * 1000 + d->rank;
    ptoc_notify(ctx, d, right, (i32*)(d->base[right] + a[2]), 1, PTOC_NOTIFY_ADD);
    if (i32 s = ptoc_wait(ctx, d, (i32*)(d->base[d->rank] + a[2]), i32(a[3]), PTOC_CMP_GE, 3)) return s;
    i64 sum = 0, *mine = (i64*)(d->base[d->rank] + a[1]);
    for (i64 i = 0; i < 100; ++i) sum += mine[i];
    ((i64*)a[4])[d->rank] = sum;
    return 0;
}

// Ranks 0 and 1 pass a token: domain, offset, rounds so far, rounds
extern "C" i32 ping_pong(ptoc_ctx* ctx, const i64* a) {
    const ptoc_domain* d = (const ptoc_domain*)a[0];
    if (d->rank > 1) return 0;
    i32* mine = (i32*)(d->base[d->rank] + a[1]);
    i32* other = (i32*)(d->base[1 - d->rank] + a[1]);
    for (i32 i = i32(a[2]) + 1; i <= a[2] + a[3]; ++i) {
        if (d->rank == 0) ptoc_notify(ctx, d, 1, other, i, PTOC_NOTIFY_SET);
        if (i32 s = ptoc_wait(ctx, d, mine, i, PTOC_CMP_EQ, 5)) return s;
        if (d->rank == 1) ptoc_notify(ctx, d, 0, other, i, PTOC_NOTIFY_SET);
    }
    return 0;
}

// Waits for what nobody sends: domain, offset, wanted
extern "C" i32 wait_forever(ptoc_ctx* ctx, const i64* a) {
    const ptoc_domain* d = (const ptoc_domain*)a[0];
    return ptoc_wait(ctx, d, (i32*)(d->base[d->rank] + a[1]), i32(a[2]), PTOC_CMP_EQ, 42);
}

extern "C" i32 loop_polling(ptoc_ctx* ctx, const i64*) {
    for (;;) {
        if (i32 s = ptoc_poll(ctx, 23)) return s;
    }
}

// Deaf to the abort flag; ends when the word at a[0] is not 0.
extern "C" i32 loop_deaf(ptoc_ctx*, const i64* a) {
    while (!*(volatile i32*)a[0]) ptoc_pause();
    return 0;
}

extern "C" i32 fault(ptoc_ctx* ctx, const i64* a) {
    return ptoc_fail(ctx, PTOC_LOCAL_BOUNDS, 11, a[0], 100, 8, 64);
}

extern "C" i32 crash(ptoc_ctx*, const i64* a) {
    *(volatile i32*)a[0] = 1;
    return 0;
}

extern "C" i32 divide(ptoc_ctx*, const i64* a) {
    volatile i32 x = 1, y = i32(a[0]), z;
    z = x / y;
    return 0;
}

static i32 deeper(volatile char* before, i64 n) {
    volatile char frame[4096];
    frame[0] = before[0];
    return n ? deeper(frame, n - 1) + frame[0] : 0;
}

extern "C" i32 overflow(ptoc_ctx*, const i64*) {
    volatile char c = 0;
    return deeper(&c, 1 << 30);
}

// Fills its arena of a[0] bytes and counts what it holds into a[1].
extern "C" i64 arena_of_use_arena(const i64* a) __asm__("use_arena.arena");
extern "C" i64 arena_of_use_arena(const i64* a) { return a[0]; }
extern "C" i32 use_arena(ptoc_ctx* ctx, const i64* a) {
    if (ctx->arena_bytes < a[0] || (i64)ctx->arena % 64) return ptoc_fail(ctx, PTOC_ASSERT, 1, ctx->arena_bytes, a[0]);
    __builtin_memset(ctx->arena, 1, a[0]);
    i64 n = 0;
    for (i64 i = 0; i < a[0]; ++i) n += ctx->arena[i];
    ((i64*)a[1])[ctx->device] = n;
    return 0;
}

// A race: all ranks write one word of rank 0's window. domain, offset
extern "C" i32 race(ptoc_ctx*, const i64* a) {
    const ptoc_domain* d = (const ptoc_domain*)a[0];
    for (i32 i = 0; i < 1000; ++i) ++*(volatile i32*)(d->base[0] + a[1]);
    return 0;
}
