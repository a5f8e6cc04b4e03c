// What Go calls, with one pointer to the arguments each.

static void init_rank(rank* r, proc* p, i32 device) {
    r->p = p;
    r->device = device;
    r->home = home_of(p, device);
    r->ctl = ctl_of(p, device);
    r->ring = (struct ring*)(p->region + p->shared->rings) + device;
    r->ctx.device = device;
    r->ctx.ndevices = p->shared->ranks;
    r->ctx.spins = p->shared->spins;
    r->ctx.abort = &p->shared->abort;
    r->ctx.fault = &r->ctl->fault;
    r->ctx.self = r->ctl;
    r->ctx.wait = slow_wait;
    r->ctx.wake = wake_peer;
}

extern "C" void ptoc_engine_start(start_call* call) {
    host_begins();  // its memory may be that of an engine before
    pthread_once(&handlers_once, install_handlers);
    proc* p = (proc*)calloc(1, sizeof(proc));
    rank* ranks = (rank*)calloc(call->count, sizeof(rank));
    if (!p || !ranks) {
        strcpy(call->error, "out of memory");
        return;
    }
    p->region = call->region;
    p->shared = (control*)call->region;
    p->first = call->first;
    if (sched_getaffinity(0, sizeof p->cpus, &p->cpus)) CPU_ZERO(&p->cpus);
    p->fences = allow_fences(p);
    p->ranks = ranks;
    call->proc = p;
    sigset_t mask, before;
    rank_signal_mask(&mask);
    pthread_sigmask(SIG_SETMASK, &mask, &before);
    for (; p->count < call->count; ++p->count) {
        rank* r = &ranks[p->count];
        init_rank(r, p, p->first + p->count);
        if (int err = pthread_create(&r->thread, 0, rank_main, r)) {
            strncpy(call->error, strerror(err), sizeof call->error - 1);
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, 0);
    host_did();
}

extern "C" void ptoc_engine_sync(sync_call* call) {
    host_begins();
    call->ok = sync_tables(call->proc, call->modules, call->kernels, call->domains, call->error, sizeof call->error);
    host_did();
}

static i64 now_ms() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

// Joins the ranks, which must have been told to stop. One that does not end
// within the grace keeps its memory and runs on.
extern "C" void ptoc_engine_join(join_call* call) {
    host_begins();
    proc* p = call->proc;
    i64 end = now_ms() + call->grace_ms;
    for (i32 i = 0; i < p->count; ++i) {
        i32* state = &p->ranks[i].ctl->state;
        for (i32 s; (s = __atomic_load_n(state, __ATOMIC_ACQUIRE)) != PTOC_RANK_EXITED;) {
            i64 left = call->grace_ms < 0 ? 1000 : end - now_ms();
            if (left <= 0) break;
            futex_wait(p, state, s, left);
        }
        if (__atomic_load_n(state, __ATOMIC_ACQUIRE) == PTOC_RANK_EXITED) pthread_join(p->ranks[i].thread, 0);
        else ++call->left;
    }
    host_did();
    if (call->left) return;
    for (i32 i = 0; i < p->domains; ++i) free(p->domain[i]);
    for (i32 i = 0; i < p->modules; ++i) dlclose(p->module[i]);
    free(p->ranks);
    free(p);
}
