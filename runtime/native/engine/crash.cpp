// A signal that a kernel caused becomes a fault of its rank. All other
// signals go to whoever handled them before: the Go runtime.

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
static struct sigaction handlers_before[64];
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;

// Of the initial-exec model: the handler must not allocate to find it.
static thread_local rank* this_rank __attribute__((tls_model("initial-exec")));

static i64 pc_of(void* context) {
#if defined(__x86_64__)
    return ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return ((ucontext_t*)context)->uc_mcontext.pc;
#else
    return 0;
#endif
}

static void on_crash(int sig, siginfo_t* info, void* context) {
    rank* r = this_rank;
    if (r && r->in_kernel) {
        r->in_kernel = false;
        ptoc_fail(&r->ctx, PTOC_CRASH, -1, sig, (i64)info->si_addr, pc_of(context));
        siglongjmp(r->crash, 1);
    }
    const struct sigaction& before = handlers_before[sig];
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(sig, info, context);
    } else if (before.sa_handler == SIG_DFL) {
        sigaction(sig, &before, 0);  // the instruction runs again and ends the process
    } else if (before.sa_handler != SIG_IGN) {
        before.sa_handler(sig);
    }
}

static void install_handlers() {
    for (int sig : crash_signals) {
        struct sigaction a;
        sigaction(sig, 0, &handlers_before[sig]);
        a = handlers_before[sig];  // keeps the mask that the Go runtime wants
        a.sa_sigaction = on_crash;
        a.sa_flags |= SA_SIGINFO | SA_ONSTACK;
        sigaction(sig, &a, 0);
    }
}

// Rank threads take no signals but those that they cause: the others are for
// the threads of the Go runtime.
static void rank_signal_mask(sigset_t* set) {
    sigfillset(set);
    for (int sig : crash_signals) sigdelset(set, sig);
}

// A handler cannot run on a stack that has overflowed.
static void give_signal_stack() {
    stack_t s = {};
    s.ss_size = 64 << 10;
    s.ss_sp = malloc(s.ss_size);
    if (s.ss_sp) sigaltstack(&s, 0);
}

static void free_signal_stack() {
    stack_t off = {}, old = {};
    off.ss_flags = SS_DISABLE;
    if (sigaltstack(&off, &old) == 0 && !(old.ss_flags & SS_DISABLE)) free(old.ss_sp);
}
