# PyTorch's and Triton's kernels on the shapes of the benchmarks: one line of JSON each.
import json, statistics, sys

try:
    import torch
except ImportError:
    sys.exit("PyTorch is not installed")
if not torch.cuda.is_available():
    sys.exit("PyTorch finds no GPU")


def measure(name, f, bytes=0, flops=0, dtype=""):
    for _ in range(5):
        f()
    times = []
    for _ in range(20):
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        f()
        b.record()
        torch.cuda.synchronize()
        times.append(a.elapsed_time(b) * 1e6)
    print(json.dumps(dict(name=name, ns=statistics.median(times), bytes=bytes, flops=flops, dtype=dtype)), flush=True)


rows, cols = 16384, 1024
x = torch.randn(rows, cols, device="cuda")
measure("softmax FP32, 16384 x 1024 (PyTorch)", lambda: torch.softmax(x, 1), bytes=rows * cols * 8)
h = x.bfloat16()
w = torch.randn(cols, device="cuda")


def rmsnorm():
    t = h.float()
    return (t * torch.rsqrt((t * t).mean(1, keepdim=True) + 1e-5) * w).bfloat16()


measure("rmsnorm BF16, 16384 x 1024 (PyTorch)", rmsnorm, bytes=rows * cols * 4)
m, n, k = 8192, 1024, 1024
torch.backends.cuda.matmul.allow_tf32 = False
for dtype, name in ((torch.bfloat16, "BF16"), (torch.float32, "FP32")):
    a, b = torch.randn(m, k, device="cuda", dtype=dtype), torch.randn(k, n, device="cuda", dtype=dtype)
    measure(f"gemm {name}, 8192 x 1024 x 1024 (PyTorch)", lambda: a @ b, flops=2 * m * n * k, dtype=name)

try:
    import triton
    import triton.language as tl
except ImportError:
    sys.exit("Triton is not installed")

# Triton reads a kernel's source from its file: what comes from standard input needs one.
import importlib.util, os, tempfile

text = """
import triton, triton.language as tl
@triton.jit
def softmax(x, y, COLS: tl.constexpr):
    at = tl.program_id(0) * COLS + tl.arange(0, COLS)
    t = tl.load(x + at)
    e = tl.exp(t - tl.max(t, 0))
    tl.store(y + at, e / tl.sum(e, 0))
@triton.jit
def rmsnorm(x, w, y, COLS: tl.constexpr):
    c = tl.arange(0, COLS)
    at = tl.program_id(0) * COLS + c
    t = tl.load(x + at).to(tl.float32)
    s = tl.rsqrt(tl.sum(t * t, 0) / COLS + 1e-5)
    tl.store(y + at, (t * s * tl.load(w + c)).to(tl.bfloat16))
"""
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "kernels.py")
    with open(path, "w") as f:
        f.write(text)
    spec = importlib.util.spec_from_file_location("kernels", path)
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    y, hy = torch.empty_like(x), torch.empty_like(h)
    measure("softmax FP32, 16384 x 1024 (Triton)", lambda: kernels.softmax[(rows,)](x, y, COLS=cols), bytes=rows * cols * 8)
    measure("rmsnorm BF16, 16384 x 1024 (Triton)", lambda: kernels.rmsnorm[(rows,)](h, w, hy, COLS=cols), bytes=rows * cols * 4)
