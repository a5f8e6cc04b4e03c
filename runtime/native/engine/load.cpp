// Resolving the shared tables into this process: kernels to functions,
// domains to addresses. Tables only grow; the host tries a row in its own
// process before it publishes it.

static bool load_modules(proc* p, i32 n, char* error, size_t size) {
    module_row* row = (module_row*)(p->region + p->shared->module_tab);
    for (; p->modules < n; ++p->modules) {
        p->module[p->modules] = dlopen(row[p->modules].path, RTLD_NOW | RTLD_LOCAL);
        if (!p->module[p->modules]) {
            strncpy(error, dlerror(), size - 1);
            return false;
        }
    }
    return true;
}

static bool find_kernels(proc* p, i32 n, char* error, size_t size) {
    kernel_row* row = (kernel_row*)(p->region + p->shared->kernel_tab);
    for (; p->kernels < n; ++p->kernels) {
        const kernel_row& k = row[p->kernels];
        void* code = dlsym(p->module[k.module], k.name);
        if (!code) {
            strncpy(error, dlerror(), size - 1);
            return false;
        }
        char arena[sizeof k.name + sizeof ARENA_SUFFIX];
        strcpy(arena, k.name);
        strcat(arena, ARENA_SUFFIX);
        p->kernel[p->kernels] = (kernel_fn)code;
        p->arena[p->kernels] = (arena_fn)dlsym(p->module[k.module], arena);
    }
    return true;
}

static domain_view* view_domain(const proc* p, const domain_row& row, i32 id) {
    domain_view* v = (domain_view*)calloc(1, sizeof(domain_view));
    if (!v) return v;
    for (i32 i = 0; i < row.n; ++i) {
        i32 d = row.devices[i];
        v->device[i] = d;
        v->base[i] = window_of(p, d);
        v->ctl[i] = ctl_of(p, d);
        v->of[d] = ptoc_domain{i, row.n, id, 0, v->base, v->ctl, v->device};
    }
    return v;
}

static bool sync_tables(proc* p, i32 modules, i32 kernels, i32 domains, char* error, size_t size) {
    if (!load_modules(p, modules, error, size) || !find_kernels(p, kernels, error, size)) return false;
    domain_row* row = (domain_row*)(p->region + p->shared->domain_tab);
    for (; p->domains < domains; ++p->domains) {
        p->domain[p->domains] = view_domain(p, row[p->domains], p->domains);
        if (!p->domain[p->domains]) {
            strncpy(error, "out of memory", size - 1);
            return false;
        }
    }
    return true;
}

// Resolves all that is published.
static bool sync_published(proc* p, char* error, size_t size) {
    control* s = p->shared;
    i32 domains = __atomic_load_n(&s->domains, __ATOMIC_ACQUIRE);
    i32 kernels = __atomic_load_n(&s->kernels, __ATOMIC_ACQUIRE);
    i32 modules = __atomic_load_n(&s->modules, __ATOMIC_ACQUIRE);
    return sync_tables(p, modules, kernels, domains, error, size);
}
