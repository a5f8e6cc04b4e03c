// A libcuda that does things late and remembers what is there: streams are queues, which get on when an event is asked
// about. It complains about calls without a context or in another GPU's, and about what is used after it was freed, or is
// no memory of the kind that a call wants. Kernels do nothing. Any call can be made to fail.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *H;
struct Context { CUdevice device; int refs; };
struct Memory { size_t size; CUdevice device; char kind; }; // kinds: device, pool, host
struct Event { CUdevice device; std::shared_ptr<bool> done; };
struct Stream { CUdevice device; std::deque<std::function<bool()>> work; };
struct Link { char *image; size_t size; };

static const int gpus = 2;
static Context contexts[gpus] = {{0, 0}, {1, 0}};
static thread_local Context *current;
static std::recursive_mutex lock;
static std::map<CUdeviceptr, Memory> memories;
static std::set<Stream *> streams;
static std::set<Event *> events;
static std::set<H> modules;
static int complaints;

static std::string failing;
static int failure, failAt, failCalls;
static bool dead; // after a failure that stays

static CUresult complain(const char *call, const char *what) {
    fprintf(stderr, "%s: not so: %s\n", call, what);
    complaints++;
    return 1;
}

static CUresult fails(const char *call) {
    if (dead) return failure;
    if (failing != call || ++failCalls != failAt) return 0;
    dead = failure >= 700;
    return failure;
}

#define API extern "C" __attribute__((visibility("default"))) CUresult
#define BEGIN std::lock_guard<std::recursive_mutex> guard(lock); if (CUresult r = fails(__func__)) return r
#define NEED(x) do { if (!(x)) return complain(__func__, #x); } while (0)
#define CONTEXT BEGIN; NEED(current && current->refs > 0)
#define STREAM CONTEXT; NEED(streams.count(s) && s->device == current->device)

// find is the memory in which n bytes at p lie.
static Memory *find(CUdeviceptr p, size_t n) {
    auto at = memories.upper_bound(p);
    if (at == memories.begin()) return nullptr;
    --at;
    return p + n <= at->first + at->second.size ? &at->second : nullptr;
}

static bool on(CUdeviceptr p, size_t n, const char *kinds) {
    Memory *m = find(p, n);
    return n > 0 && m && strchr(kinds, m->kind);
}

static CUdeviceptr allocate(size_t n, char kind) {
    CUdeviceptr p = (CUdeviceptr)aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    memset((void *)p, 0xa5, n);
    memories[p] = Memory{n, current->device, kind};
    return p;
}

static void release(CUdeviceptr p) {
    memories.erase(p);
    free((void *)p);
}

static void pump() {
    for (bool again = true; again;) {
        again = false;
        for (auto s : streams)
            for (; !s->work.empty() && s->work.front()(); again = true) s->work.pop_front();
    }
}

static void later(Stream *s, std::function<void()> f) {
    s->work.push_back([f] { f(); return true; });
}

API cuInit(unsigned flags) { BEGIN; return 0; }
API cuDriverGetVersion(int *v) { BEGIN; *v = 12040; return 0; }
API cuGetErrorName(CUresult r, const char **s) { *s = "CUDA_ERROR"; return 0; }
API cuGetErrorString(CUresult r, const char **s) { *s = "the text"; return 0; }
API cuDeviceGet(CUdevice *d, int i) { BEGIN; NEED(i < gpus); *d = i; return 0; }
API cuDeviceGetCount(int *n) { BEGIN; *n = gpus; return 0; }
API cuDeviceGetName(char *s, int n, CUdevice d) { BEGIN; snprintf(s, n, "late %d", d); return 0; }
API cuDeviceTotalMem_v2(size_t *n, CUdevice d) { BEGIN; *n = 80ull << 30; return 0; }
API cuDeviceCanAccessPeer(int *x, CUdevice a, CUdevice b) { BEGIN; *x = 1; return 0; }
API cuDeviceGetP2PAttribute(int *x, int a, CUdevice from, CUdevice to) { BEGIN; *x = 1; return 0; }
API cuDeviceGetAttribute(int *x, int a, CUdevice d) {
    BEGIN;
    *x = a == 75 ? 9 : a == 76 ? 0 : a == 16 ? 132 : a == 97 ? 232448 : 1;
    return 0;
}
API cuDevicePrimaryCtxRetain(Context **c, CUdevice d) { BEGIN; *c = &contexts[d]; contexts[d].refs++; return 0; }
API cuDevicePrimaryCtxRelease_v2(CUdevice d) { BEGIN; NEED(contexts[d].refs > 0); contexts[d].refs--; return 0; }
API cuCtxSetCurrent(Context *c) { BEGIN; NEED(c && c->refs > 0); current = c; return 0; }
API cuCtxEnablePeerAccess(Context *peer, unsigned flags) { CONTEXT; NEED(peer->refs > 0 && peer != current); return 0; }

API cuMemAlloc_v2(CUdeviceptr *p, size_t n) { CONTEXT; NEED(n > 0); *p = allocate(n, 'd'); return 0; }
API cuMemFree_v2(CUdeviceptr p) {
    CONTEXT;
    NEED(memories.count(p) && memories[p].kind == 'd' && memories[p].device == current->device);
    pump();
    release(p);
    return 0;
}
API cuMemAllocAsync(CUdeviceptr *p, size_t n, Stream *s) { STREAM; NEED(n > 0); *p = allocate(n, 'p'); return 0; }
API cuMemFreeAsync(CUdeviceptr p, Stream *s) {
    STREAM;
    NEED(memories.count(p) && memories[p].kind == 'p');
    later(s, [p] { release(p); });
    return 0;
}
API cuDeviceGetDefaultMemPool(H *p, CUdevice d) { BEGIN; *p = (H)1; return 0; }
API cuMemPoolSetAttribute(H p, int a, void *x) { BEGIN; return 0; }
API cuMemHostAlloc(void **p, size_t n, unsigned flags) {
    CONTEXT;
    NEED(n > 0);
    *p = (void *)allocate(n, 'h');
    return 0;
}
API cuMemFreeHost(void *p) {
    CONTEXT;
    NEED(memories.count((CUdeviceptr)p) && memories[(CUdeviceptr)p].kind == 'h');
    pump();
    release((CUdeviceptr)p);
    return 0;
}
API cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned flags) {
    CONTEXT;
    NEED(on((CUdeviceptr)p, 1, "h"));
    *d = (CUdeviceptr)p;
    return 0;
}
API cuMemHostRegister_v2(void *p, size_t n, unsigned flags) { CONTEXT; return 1; }
API cuMemHostUnregister(void *p) { CONTEXT; return 1; }

// copy is looked at when it is asked for and when it is done.
static CUresult copy(const char *call, CUdeviceptr to, const char *toKinds, CUdeviceptr from, const char *fromKinds,
                     size_t n, Stream *s) {
    if (!on(to, n, toKinds) || !on(from, n, fromKinds)) return complain(call, "memory of the right kind");
    later(s, [=] {
        if (!on(to, n, toKinds) || !on(from, n, fromKinds)) complain(call, "memory that is still there");
        else memcpy((void *)to, (void *)from, n);
    });
    return 0;
}
API cuMemcpyHtoDAsync_v2(CUdeviceptr to, void *from, size_t n, Stream *s) {
    STREAM;
    return copy(__func__, to, "dp", (CUdeviceptr)from, "h", n, s);
}
API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, Stream *s) {
    STREAM;
    return copy(__func__, (CUdeviceptr)to, "h", from, "dp", n, s);
}
API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, Stream *s) {
    STREAM;
    return copy(__func__, to, "dp", from, "dp", n, s);
}
API cuMemsetD8Async(CUdeviceptr p, unsigned char x, size_t n, Stream *s) {
    STREAM;
    NEED(on(p, n, "dp"));
    later(s, [=] {
        if (!on(p, n, "dp")) complain("cuMemsetD8Async", "memory that is still there");
        else memset((void *)p, x, n);
    });
    return 0;
}

API cuStreamCreate(Stream **s, unsigned flags) { CONTEXT; streams.insert(*s = new Stream{current->device, {}}); return 0; }
API cuStreamDestroy_v2(Stream *s) { STREAM; pump(); streams.erase(s); return 0; }
API cuEventCreate(Event **e, unsigned flags) {
    CONTEXT;
    events.insert(*e = new Event{current->device, std::make_shared<bool>(true)});
    return 0;
}
API cuEventDestroy_v2(Event *e) { CONTEXT; NEED(events.count(e)); events.erase(e); return 0; }
API cuEventRecord(Event *e, Stream *s) {
    STREAM;
    NEED(events.count(e) && e->device == s->device);
    auto done = e->done = std::make_shared<bool>(false);
    later(s, [done] { *done = true; });
    return 0;
}
API cuStreamWaitEvent(Stream *s, Event *e, unsigned flags) {
    STREAM;
    NEED(events.count(e));
    auto done = e->done;
    s->work.push_back([done] { return *done; });
    return 0;
}
API cuEventQuery(Event *e) {
    CONTEXT;
    NEED(events.count(e));
    CUresult now = *e->done ? 0 : 600;
    pump();
    return now;
}
API cuEventElapsedTime(float *ms, Event *a, Event *b) { CONTEXT; NEED(*a->done && *b->done); *ms = 1; return 0; }

API cuLinkCreate_v2(unsigned n, int *options, void **values, Link **out) { CONTEXT; *out = new Link{nullptr, 0}; return 0; }
API cuLinkAddData_v2(Link *l, int type, void *data, size_t n, const char *name, unsigned options, int *o, void **v) {
    CONTEXT;
    l->image = strdup((char *)data), l->size = n;
    return 0;
}
API cuLinkComplete(Link *l, void **image, size_t *n) { CONTEXT; *image = l->image, *n = l->size; return 0; }
API cuLinkDestroy(Link *l) {
    CONTEXT;
    if (l->image) memset(l->image, 0, l->size);
    free(l->image);
    delete l;
    return 0;
}
API cuModuleLoadDataEx(H *m, const void *image, unsigned n, int *options, void **values) {
    CONTEXT;
    modules.insert(*m = strdup((const char *)image));
    return 0;
}
API cuModuleUnload(H m) { CONTEXT; NEED(modules.count(m)); pump(); modules.erase(m); free(m); return 0; }
API cuModuleGetFunction(H *f, H m, const char *name) {
    CONTEXT;
    NEED(modules.count(m));
    return (*f = strstr((char *)m, name)) ? 0 : 500;
}
API cuFuncSetAttribute(H f, int a, int x) { CONTEXT; return 0; }
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, H f, int threads, size_t shared) { CONTEXT; *n = 4; return 0; }

// launch: the parameter is the address of records, each of the addresses of a context and of arguments.
static CUresult launch(const char *call, unsigned ranks, Stream *s, void **params) {
    CUdeviceptr at = *(CUdeviceptr *)params[0];
    later(s, [=] {
        bool right = at % 16 == 0 && on(at, 16 * ranks, "d");
        for (unsigned i = 0; right && i < 2 * ranks; i++) right = on(((CUdeviceptr *)at)[i], 8, "d");
        if (!right) complain(call, "a record that is there");
    });
    return 0;
}
API cuLaunchKernel(H f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   Stream *s, void **params, void **extra) {
    STREAM;
    return launch(__func__, gy, s, params);
}
API cuLaunchCooperativeKernel(H f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared, Stream *s, void **params) {
    STREAM;
    return launch(__func__, gy, s, params);
}
API cuIpcGetMemHandle(void *h, CUdeviceptr p) { CONTEXT; return 1; }
API cuIpcOpenMemHandle_v2() { CONTEXT; return 1; }
API cuIpcCloseMemHandle(CUdeviceptr p) { CONTEXT; return 1; }

// What tests call. After late_fail everything is as new; the n-th call of a function then fails.
API late_fail(const char *call, CUresult with, int n) {
    memories.clear(), streams.clear(), events.clear(), modules.clear();
    for (auto &c : contexts) c.refs = 0;
    failing = call, failure = with, failAt = n, failCalls = 0, dead = false, complaints = 0;
    return 0;
}
API late_complaints() { return complaints; }
API late_left() {
    pump();
    return memories.size() + streams.size() + events.size() + modules.size() + contexts[0].refs + contexts[1].refs;
}
API late_failed() { return failCalls >= failAt && failAt > 0; }
