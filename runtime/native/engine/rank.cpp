// A rank: takes commands from its ring and runs kernels.

enum : i32 { IDLE_YIELDS = 200 };

// Returns the next record, or null when the rank shall exit.
static const i64* take(rank* r) {
    struct ring* g = r->ring;
    control* s = r->p->shared;
    for (i32 idle = 0;; ++idle) {
        i64 head = g->head;
        if (__atomic_load_n(&g->tail, __ATOMIC_ACQUIRE) != head) {
            const i64* record = &g->words[head % RING_WORDS];
            if (i32(record[0] >> 32) >= 0) return record;
            __atomic_store_n(&g->head, head + i32(record[0]), __ATOMIC_RELEASE);
            idle = 0;
            continue;
        }
        if (__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) return 0;
        if (idle < 20) {
            ptoc_pause();
        } else if (idle < 20 + IDLE_YIELDS) {
            sched_yield();
        } else {
            i32 bell = __atomic_load_n(&g->bell, __ATOMIC_SEQ_CST);
            __atomic_store_n(&g->sleeping, 1, __ATOMIC_SEQ_CST);
            if (__atomic_load_n(&g->tail, __ATOMIC_SEQ_CST) == head && !__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST))
                futex_wait(r->p, &g->bell, bell, 1000);
            __atomic_store_n(&g->sleeping, 0, __ATOMIC_SEQ_CST);
            go_home(r);
        }
    }
}

static i32 no_domain(rank* r, i64 id) { return ptoc_fail(&r->ctx, PTOC_BAD_PEER, -1, r->device, id); }

// Turns the record's arguments into what the kernel gets.
static i32 resolve(rank* r, const i64* record) {
    proc* p = r->p;
    const i64* in = record + RECORD_HEAD;
    for (i32 i = 0, n = i32(record[2]); i < n; ++i, in += 2) {
        i64 v = in[1];
        switch (in[0]) {
        case PTOC_TAG_HEAP: v = (i64)(p->region + p->shared->heap + v); break;
        case PTOC_TAG_WINDOW: v = (i64)(window_of(p, r->device) + v); break;
        case PTOC_TAG_DOMAIN:
            if (v >= p->domains || !p->domain[v]->of[r->device].nranks) return no_domain(r, v);
            v = (i64)&p->domain[v]->of[r->device];
            break;
        }
        r->args[i] = v;
    }
    return 0;
}

// The arena holds at least size bytes afterwards; its contents are not kept.
static bool grow_arena(rank* r, i64 size) {
    r->ctx.arena_bytes = size;
    if (size <= r->arena_mapped) return true;
    i64 want = (size + size / 2 + 0x1fffff) & ~i64(0x1fffff);
    if (r->arena_mapped) munmap(r->ctx.arena, r->arena_mapped);
    r->arena_mapped = 0;
    void* at = mmap(0, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    if (size >= 1 << 20) madvise(at, want, MADV_HUGEPAGE);
    r->ctx.arena = (u8*)at;
    r->arena_mapped = want;
    return true;
}

static i32 run_kernel(rank* r) {
    arena_fn arena = r->p->arena[r->cmd_kernel];
    r->in_kernel = true;
    i64 size = arena ? arena(r->args) : 0;
    r->in_kernel = false;
    if (!grow_arena(r, size)) return ptoc_fail(&r->ctx, PTOC_NO_MEMORY, -1, size);
    r->in_kernel = true;
    i32 status = r->p->kernel[r->cmd_kernel](&r->ctx, r->args);
    r->in_kernel = false;
    return status;
}

static i32 load_late(rank* r) {
    char error[512] = {};
    if (sync_published(r->p, error, sizeof error)) return 0;
    write(2, error, strlen(error));
    return ptoc_fail(&r->ctx, PTOC_LOAD_FAILED, -1, r->cmd_kernel);
}

static i32 execute(rank* r, const i64* record) {
    proc* p = r->p;
    if (__atomic_load_n(&p->shared->abort, __ATOMIC_RELAXED)) return -1;
    rank_begins();
    // Only where ranks are processes: with threads the host has done it.
    if (!p->shared->one_process &&
        (r->cmd_kernel >= p->kernels || p->domains < __atomic_load_n(&p->shared->domains, __ATOMIC_ACQUIRE)))
        if (i32 status = load_late(r)) return status;
    if (i32 status = resolve(r, record)) return status;
    __atomic_store_n(&r->ctl->kernel, r->cmd_kernel, __ATOMIC_RELAXED);
    return run_kernel(r);
}

// Records how the command ended. -1: it was skipped.
static void finish(rank* r, i32 status) {
    proc* p = r->p;
    ptoc_rankctl* c = r->ctl;
    if (status > 0 && c->status == PTOC_OK) {
        c->fault_kern = r->cmd_kernel;
        c->fault_seq = r->cmd_seq;
        __atomic_store_n(&c->status, status, __ATOMIC_RELEASE);
    }
    if (status < 0 && c->status == PTOC_OK && !c->fault_seq) c->fault_seq = r->cmd_seq;  // from here on
    if (status > 0 && status != PTOC_ABORTED) raise_abort(p, r->device);
    rank_did();
    __atomic_store_n(&r->ring->head, r->ring->head + r->cmd_words, __ATOMIC_RELEASE);
    __atomic_store_n(&c->kernel, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&c->completed, r->cmd_seq, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->shared->host_waiting, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&p->shared->done, 1, __ATOMIC_SEQ_CST);
        futex_wake(p, &p->shared->done);
    }
}

static void run_commands(rank* r) {
    if (sigsetjmp(r->crash, 0)) {  // a kernel crashed: its command ends here
        sigset_t mask;
        rank_signal_mask(&mask);
        pthread_sigmask(SIG_SETMASK, &mask, 0);
        finish(r, PTOC_CRASH);
    }
    while (const i64* record = take(r)) {
        r->cmd_kernel = i32(record[0] >> 32);
        r->cmd_seq = record[1];
        r->cmd_words = i32(record[0]);
        finish(r, execute(r, record));
    }
}

static void* rank_main(void* arg) {
    rank* r = (rank*)arg;
    this_rank = r;
    give_signal_stack();
    go_home(r);
    __atomic_store_n(&r->ctl->state, i32(PTOC_RANK_RUNNING), __ATOMIC_RELEASE);
    run_commands(r);
    if (r->arena_mapped) munmap(r->ctx.arena, r->arena_mapped);
    free_signal_stack();
    __atomic_store_n(&r->ctl->state, i32(PTOC_RANK_EXITED), __ATOMIC_SEQ_CST);
    futex_wake(r->p, &r->ctl->state);
    return 0;
}
