// A libcuda that has memory and nothing else: it checks that arguments arrive as cuda.h declares them.
// Launches are noted, and their parameter's first eight bytes are counted up.
#include <cstdlib>
#include <cstring>
#include <cstdio>
#include <cstdint>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct ctx { int device; } *CUcontext;
typedef struct { char bytes[64]; } CUipcMemHandle;
typedef void *H;
#define API extern "C" __attribute__((visibility("default"))) CUresult
#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s: not so: %s\n", __func__, #x); return 1; } } while (0)

static ctx contexts[2] = {{0}, {1}};
static thread_local CUcontext current;
static int refs[2];

static bool is(const char *name, const char *value) { const char *s = getenv(name); return s && !strcmp(s, value); }
API cuInit(unsigned flags) { NEED(flags == 0); NEED(is("CUDA_DEVICE_MAX_CONNECTIONS", "32") && is("CUDA_LAUNCH_BLOCKING", "0") && is("CUDA_MODULE_LOADING", "EAGER")); return getenv("STUB_NO_GPU") ? 100 : 0; }
API cuDriverGetVersion(int *v) { *v = 12040; return 0; }
API cuGetErrorName(CUresult r, const char **s) { *s = r == 218 ? "CUDA_ERROR_INVALID_PTX" : r == 600 ? "CUDA_ERROR_NOT_READY" : "CUDA_ERROR_INVALID_VALUE"; return 0; }
API cuGetErrorString(CUresult r, const char **s) { *s = "the text"; return 0; }
API cuDeviceGet(CUdevice *d, int i) { NEED(i < 2); *d = i; return 0; }
API cuDeviceGetCount(int *n) { *n = 2; return 0; }
API cuDeviceGetName(char *s, int n, CUdevice d) { snprintf(s, n, "stub %d", d); return 0; }
API cuDeviceGetAttribute(int *x, int a, CUdevice d) { *x = a == 86 ? d : a == 75 ? 9 : a == 76 ? 0 : a == 16 ? 132 : a == 97 ? 232448 : a == 95 || a == 115 ? 1 : 1000 + a; return 0; }
API cuDeviceTotalMem_v2(size_t *n, CUdevice d) { *n = 80ull << 30; return 0; }
API cuDeviceCanAccessPeer(int *x, CUdevice a, CUdevice b) { NEED(a != b); *x = 1; return 0; }
API cuDeviceGetP2PAttribute(int *x, int a, CUdevice from, CUdevice to) { NEED(a == 3 && from != to); *x = !getenv("STUB_NO_ATOMICS"); return 0; }
API cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { *c = &contexts[d]; refs[d]++; return 0; }
API cuDevicePrimaryCtxRelease_v2(CUdevice d) { NEED(refs[d] > 0); refs[d]--; return 0; }
API cuCtxSetCurrent(CUcontext c) { current = c; return 0; }
API cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) { NEED(flags == 0); NEED(peer != current); return 704; }
API cuMemAlloc_v2(CUdeviceptr *p, size_t n) { NEED(current && n > 0); if (n >> 40) return 2; *p = (CUdeviceptr)malloc(n); return 0; }
API cuMemFree_v2(CUdeviceptr p) { NEED(current); free((void *)p); return 0; }
API cuMemAllocAsync(CUdeviceptr *p, size_t n, H s) { NEED(s == (H)0x51); *p = (CUdeviceptr)malloc(n); return 0; }
API cuMemFreeAsync(CUdeviceptr p, H s) { NEED(s == (H)0x51); free((void *)p); return 0; }
API cuDeviceGetDefaultMemPool(H *p, CUdevice d) { *p = (H)0x77; return 0; }
API cuMemPoolSetAttribute(H p, int a, void *x) { NEED(p == (H)0x77 && a == 4 && *(uint64_t *)x == ~0ull); return 0; }
API cuMemHostAlloc(void **p, size_t n, unsigned flags) { NEED(flags == 3); *p = malloc(n); memset(*p, 0xee, n); return 0; }
API cuMemFreeHost(void *p) { free(p); return 0; }
API cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned flags) { NEED(flags == 0); *d = (CUdeviceptr)p; return 0; }
static int registered;
API cuMemHostRegister_v2(void *p, size_t n, unsigned flags) { NEED(current && flags == 3 && (uintptr_t)p % 4096 == 0 && n > 0); registered++; return 0; }
API cuMemHostUnregister(void *p) { NEED(registered > 0); registered--; return 0; }
API cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, H s) { NEED(s == (H)0x51); memcpy((void *)to, from, n); return 0; }
API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, H s) { NEED(s == (H)0x51); memcpy(to, (void *)from, n); return 0; }
API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, H s) { NEED(s == (H)0x51); memcpy((void *)to, (void *)from, n); return 0; }
API cuMemsetD8Async(CUdeviceptr p, unsigned char x, size_t n, H s) { NEED(s == (H)0x51); memset((void *)p, x, n); return 0; }
static int streams, modules;
API cuStreamCreate(H *s, unsigned flags) { NEED(flags == 1); streams++; *s = (H)0x51; return 0; }
API cuStreamDestroy_v2(H s) { NEED(s == (H)0x51); streams--; return 0; }
API cuStreamWaitEvent(H s, H e, unsigned flags) { NEED(s == (H)0x51 && e == (H)0xe1 && flags == 0); return 0; }
API cuEventCreate(H *e, unsigned flags) { NEED(flags == 0); *e = (H)0xe1; return 0; }
API cuEventDestroy_v2(H e) { NEED(e == (H)0xe1); return 0; }
static int queries;
API cuEventRecord(H e, H s) { NEED(e == (H)0xe1 && s == (H)0x51); queries = 0; return 0; }
API cuEventQuery(H e) { NEED(e == (H)0xe1); return queries++ ? 0 : 600; }
API cuEventElapsedTime(float *ms, H a, H b) { NEED(a && b); *ms = 1.5f; return 0; }

struct link { char *log; size_t size; char *image; size_t length; };
API cuLinkCreate_v2(unsigned n, int *options, void **values, link **out) {
    NEED(n == 2 && options[0] == 5 && options[1] == 6 && (size_t)values[1] == 16384);
    *out = new link{(char *)values[0], (size_t)values[1], nullptr, 0};
    return 0;
}
API cuLinkAddData_v2(link *l, int type, void *data, size_t n, const char *name, unsigned options, int *o, void **v) {
    NEED(type == 1 && !strcmp(name, "kernels.ptx") && options == 0 && !o && !v && ((char *)data)[n - 1] == 0);
    if (strstr((char *)data, "wrong")) { snprintf(l->log, l->size, "ptxas: line 1: wrong"); return 218; }
    l->image = strdup((char *)data), l->length = n;
    return 0;
}
API cuLinkComplete(link *l, void **image, size_t *n) { *image = l->image, *n = strstr(l->image, "nothing") ? 0 : l->length; return 0; }
API cuLinkDestroy(link *l) { free(l->image); delete l; return 0; }
API cuModuleUnload(H m) { NEED(modules > 0); modules--; free(m); return 0; }
API cuModuleLoadDataEx(H *m, const void *image, unsigned n, int *options, void **values) { NEED(n == 2 && options[0] == 5); modules++; *m = strdup((const char *)image); return 0; }
API cuModuleGetFunction(H *f, H m, const char *name) { if (!strstr((char *)m, name)) return 500; *f = (H)0xf1; return 0; }
static int maxShared;
API cuFuncSetAttribute(H f, int a, int x) { NEED(f == (H)0xf1 && a == 8); maxShared = x; return 0; }
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, H f, int threads, size_t shared) { NEED(f == (H)0xf1 && threads == 128); *n = 4; return 0; }
static CUresult launch(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, H s, void **params) {
    NEED(gx == 1 && gz == 1 && bx == 128 && by == 1 && bz == 1 && s == (H)0x51);
    NEED((int)shared <= 49152 || (int)shared <= maxShared);
    *(uint64_t *)*(CUdeviceptr *)params[0] += gy;
    return 0;
}
API cuLaunchKernel(H f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, H s, void **params, void **extra) {
    NEED(!extra);
    return launch(gx, gy, gz, bx, by, bz, shared, s, params);
}
API cuLaunchCooperativeKernel(H f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, H s, void **params) {
    NEED(f == (H)0xf1);
    return launch(gx, gy, gz, bx, by, bz, shared, s, params);
}
API cuIpcGetMemHandle(CUipcMemHandle *h, CUdeviceptr p) { for (int i = 0; i < 64; i++) h->bytes[i] = 'A' + i; memcpy(h->bytes + 56, &p, 8); return 0; }
API cuIpcOpenMemHandle_v2(CUdeviceptr *p, CUipcMemHandle h, unsigned flags) {
    NEED(flags == 1);
    for (int i = 0; i < 56; i++) NEED(h.bytes[i] == 'A' + i);
    memcpy(p, h.bytes + 56, 8);
    return 0;
}
API cuIpcCloseMemHandle(CUdeviceptr p) { return 0; }
// What was made and not destroyed.
API stub_left() { return streams + modules + registered + refs[0] + refs[1]; }
