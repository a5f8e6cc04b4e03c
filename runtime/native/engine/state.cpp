// The state of one process of the engine, and of each rank that it runs.

typedef i32 (*kernel_fn)(ptoc_ctx*, const i64*);
typedef i64 (*arena_fn)(const i64*);

// One domain as this process sees it: shared address tables, and a view for
// each rank, because a kernel reads its own rank from it.
struct domain_view {
    u8* base[PTOC_MAX_RANKS];
    ptoc_rankctl* ctl[PTOC_MAX_RANKS];
    i32 device[PTOC_MAX_RANKS];
    ptoc_domain of[PTOC_MAX_RANKS];  // [device]; nranks == 0: not a member
};

struct proc {
    u8* region;
    control* shared;
    i32 modules, kernels, domains;  // how much of the shared tables is resolved
    void* module[MAX_MODULES];
    kernel_fn kernel[MAX_KERNELS];
    arena_fn arena[MAX_KERNELS];
    domain_view* domain[MAX_DOMAINS];
    i32 first, count;
    struct rank* ranks;
    cpu_set_t cpus;  // that ranks may run on
    bool fences;     // see fence_peers
};

struct rank {
    proc* p;
    ptoc_rankctl* ctl;
    struct ring* ring;
    ptoc_ctx ctx;
    pthread_t thread;
    i32 device;
    i32 home;  // the core that it goes to after it slept; -1: any
    i64 arena_mapped;
    volatile bool in_kernel;  // a crash now is the kernel's
    i32 cmd_kernel;           // the command that runs
    i32 cmd_words;
    i64 cmd_seq;
    i64 args[MAX_ARGS];
    sigjmp_buf crash;
};

static u8* window_of(const proc* p, i32 device) {
    return p->region + p->shared->windows + device * p->shared->window_stride;
}

static ptoc_rankctl* ctl_of(const proc* p, i32 device) {
    return (ptoc_rankctl*)(p->region + p->shared->ctl) + device;
}

static i32 futex_flags(const proc* p) { return p->shared->one_process ? FUTEX_PRIVATE_FLAG : 0; }

static void futex_wake(const proc* p, void* word) {
    syscall(SYS_futex, word, FUTEX_WAKE | futex_flags(p), 0x7fffffff, 0, 0, 0);
}

// Sleeps while *word is seen, for a while at most: whoever sleeps looks at the
// abort flag now and then, whatever became of the one who should wake it.
static void futex_wait(const proc* p, void* word, i32 seen, i32 milliseconds) {
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    syscall(SYS_futex, word, FUTEX_WAIT | futex_flags(p), seen, &t, 0, 0);
}

// Every rank that runs, in this process or another, executes a memory fence
// before this returns. False: the system cannot do that, and whoever relies on
// it must look again soon.
static bool fence_peers(const proc* p) {
    return p->fences && !syscall(SYS_membarrier, p->shared->one_process ? MEMBARRIER_CMD_PRIVATE_EXPEDITED : MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

// What fence_peers needs in every process that is to execute one.
static bool allow_fences(const proc* p) {
    return !syscall(SYS_membarrier, p->shared->one_process ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED : MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

// The core for the k-th rank: they take turns, so that neighbours are apart.
static i32 home_of(const proc* p, i32 k) {
    i32 n = CPU_COUNT(&p->cpus);
    if (n < 2) return -1;
    k %= n;
    for (i32 c = 0; c < CPU_SETSIZE; ++c)
        if (CPU_ISSET(c, &p->cpus) && k-- == 0) return c;
    return -1;
}

// Spreads the ranks over the cores again after a sleep. Who wakes several
// threads finds them on its own core, and ranks that wait for each other there
// by yielding look busy to the system, which then leaves them together. The
// rank is not bound: the system may move it where other work wants its core.
static void go_home(rank* r) {
    if (r->home < 0 || sched_getcpu() == r->home) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(r->home, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof r->p->cpus, &r->p->cpus);
}

static bool aborted(const proc* p) { return __atomic_load_n(&p->shared->abort, __ATOMIC_ACQUIRE) != 0; }

// Makes every kernel leave.
static void raise_abort(proc* p, i32 device) {
    i32 none = -1;
    __atomic_compare_exchange_n(&p->shared->first, &none, device, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    __atomic_store_n(&p->shared->abort, 1, __ATOMIC_SEQ_CST);
    for (i32 r = 0; r < p->shared->ranks; ++r) {
        ptoc_rankctl* c = ctl_of(p, r);
        if (__atomic_load_n(&c->sleeping, __ATOMIC_SEQ_CST))
            futex_wake(p, window_of(p, r) + __atomic_load_n(&c->wait_cell, __ATOMIC_RELAXED));
    }
}

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer does not see Go, which orders ranks: it waits for one and
// then gives work to another. So every rank releases what it did, the host
// acquires that when it has waited (ptoc_engine_order), and ranks acquire what
// the host knew.
static i32 done_by_ranks, known_to_host;
static void rank_did() { __atomic_fetch_add(&done_by_ranks, 1, __ATOMIC_RELEASE); }
static void rank_begins() { (void)__atomic_load_n(&known_to_host, __ATOMIC_ACQUIRE); }
static void host_begins() { (void)__atomic_load_n(&known_to_host, __ATOMIC_ACQUIRE); }
static void host_did() { __atomic_fetch_add(&known_to_host, 1, __ATOMIC_RELEASE); }
extern "C" void ptoc_engine_order(void*) {
    (void)__atomic_load_n(&done_by_ranks, __ATOMIC_ACQUIRE);
    host_did();
}
#else
static void rank_did() {}
static void rank_begins() {}
static void host_begins() {}
static void host_did() {}
#endif
