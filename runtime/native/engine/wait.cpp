// Waiting for a signal cell, after ptoc_wait has spun for a moment in vain.

// About a hundred microseconds when nobody else wants the core. With more ranks
// than cores each yield lasts as long as the others run, which is what we wait for.
enum : i32 { WAIT_YIELDS = 200 };

template <typename T> static void publish(T* field, T value) { __atomic_store_n(field, value, __ATOMIC_RELAXED); }

static i32 leave_wait(ptoc_rankctl* self, bool reached) {
    if (self->sleeping) publish(&self->sleeping, 0);  // peers keep their copy of the line otherwise
    __atomic_store_n(&self->waiting, i32(reached ? PTOC_WAIT_NONE : PTOC_WAIT_ABORTED), __ATOMIC_RELEASE);
    if (!reached) return PTOC_ABORTED;
    publish(&self->progress, self->progress + 1);
    return 0;
}

static i32 slow_wait(ptoc_ctx* ctx, const ptoc_domain* dom, i32* cell, i32 want, i32 cmp, i32 site) {
    rank* r = (rank*)((u8*)ctx - __builtin_offsetof(rank, ctx));
    ptoc_rankctl* self = ctx->self;
    publish(&self->wait_site, site);
    publish(&self->wait_dom, dom->id);
    publish(&self->wait_cmp, cmp);
    publish(&self->wait_want, want);
    publish(&self->wait_cell, i64((u8*)cell - dom->base[dom->rank]));
    publish(&self->wait_seen, __atomic_load_n(cell, __ATOMIC_RELAXED));
    __atomic_store_n(&self->waiting, i32(PTOC_WAIT_ACTIVE), __ATOMIC_RELEASE);

    if (r->p->shared->ranks <= CPU_COUNT(&r->p->cpus)) go_home(r);  // perhaps we share a core
    for (i32 i = 0; i < WAIT_YIELDS; ++i) {
        sched_yield();
        i32 seen = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
        if (ptoc_reached(seen, want, cmp)) return leave_wait(self, true);
        publish(&self->wait_seen, seen);
        if (aborted(r->p)) return leave_wait(self, false);
    }
    // See ptoc_notify: whoever changes the cell after we looked sees that we sleep.
    __atomic_store_n(&self->sleeping, 1, __ATOMIC_SEQ_CST);
    const i32 longest = fence_peers(r->p) ? 50 : 1;
    for (i32 ms = 1;; ms = ms * 2 < longest ? ms * 2 : longest) {
        i32 seen = __atomic_load_n(cell, __ATOMIC_SEQ_CST);
        if (ptoc_reached(seen, want, cmp)) return leave_wait(self, true);
        publish(&self->wait_seen, seen);
        if (aborted(r->p)) return leave_wait(self, false);
        futex_wait(r->p, cell, seen, ms);
    }
}

static void wake_peer(ptoc_ctx* ctx, const ptoc_domain*, i32, i32* cell) {
    rank* r = (rank*)((u8*)ctx - __builtin_offsetof(rank, ctx));
    futex_wake(r->p, cell);
}
