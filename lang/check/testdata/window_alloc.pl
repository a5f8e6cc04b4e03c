# Window allocation and windows: where, how, under what name.
NR = pl.dynamic("NR")

@pl.jit
def in_chip(x: pl.Tensor[[4], pl.FP32]):
    buf = pld.alloc_window_buffer([4], dtype=pl.FP32)  # ERROR "E0308.*not possible in a chip function, only in host"

@pl.jit.incore
def in_core(x: pl.Tensor[[4], pl.FP32]):
    buf = pld.system.alloc_window_buffer([4], dtype=pl.FP32)  # ERROR "E0308.*not possible in an incore function"

@pl.jit.host
def forms(x: pl.Tensor[[NR, 4], pl.FP32]):
    a, b = pld.alloc_window_buffer([4], dtype=pl.FP32)  # ERROR "E0502.*must appear as the right side of a simple assignment"
    pld.alloc_window_buffer([4], dtype=pl.FP32)  # ERROR "E0502.*must appear as the right side"
    w = pld.window(pld.alloc_window_buffer([4], dtype=pl.FP32), [4], dtype=pl.FP32)  # ERROR "E0502.*must appear as the right side"
    twice = pld.alloc_window_buffer([4], dtype=pl.FP32)
    twice = pld.alloc_window_buffer([4], dtype=pl.FP32)  # ERROR "E0502.*twice is already declared"
    c = pld.alloc_window_buffer(1024, dtype=pl.FP32)  # ERROR "E0502.*only valid when the first argument is a shape"
    d = pld.alloc_window_buffer([4], dtype=pl.FP32, name="d")  # ERROR "E0502.*name= cannot be passed explicitly"
    e = pld.alloc_window_buffer([4])  # ERROR "E0502.*requires dtype="
    f = pld.alloc_window_buffer([], dtype=pl.FP32)  # ERROR "E0402.*shape must be non-empty"
    g = pld.alloc_window_buffer([64, -1], dtype=pl.FP32)  # ERROR "E0402.*all dimensions must be positive"
    h = pld.alloc_window_buffer()  # ERROR "E0208.*needs shape"
    i = pld.alloc_window_buffer([4], dtype=4)  # ERROR "E0313.*dtype must be an element type"
    j = pld.alloc_window_buffer([4.0], dtype=pl.FP32)  # ERROR "E0301.*shape must be integers"
    k = pld.alloc_window_buffer("4")  # ERROR "E0301.*takes a number of bytes or a shape"

@pl.jit.host
def other(x: pl.Tensor[[NR, 4], pl.FP32]):
    twice = pld.alloc_window_buffer([4], dtype=pl.FP32)  # ERROR "E0502.*twice is already declared"
    view = pld.window(x, [4], dtype=pl.FP32)  # ERROR "E0301.*buffer must be a window buffer, got pl.Tensor"

@pl.jit.host
def windows(x: pl.Tensor[[NR, 4], pl.FP32]):
    buf = pld.alloc_window_buffer([4], dtype=pl.FP32)
    a = pld.window(buf, [4], dtype=pl.FP32, offset=4)  # ERROR "E0207.*no parameter offset"
    b = pld.window(buf, dtype=pl.FP32)  # ERROR "E0208.*needs shape"
    c = pld.window(buf, [4])  # ERROR "E0208.*needs dtype"
    d = pld.window(buf, 4, dtype=pl.FP32)  # ERROR "E0301.*shape must be a list of integers"
    e = pld.window(buf, [5], dtype=pl.FP32)  # ERROR "E0403.*needs 20 bytes, its buffer has 16"
    f = pld.window(buf, [-1], dtype=pl.FP32)  # ERROR "E0402.*must not be negative"
    g = buf + 1  # ERROR "E0301.*cannot be computed with"
    n = pld.world_size(1)  # ERROR "E0209.*takes 0 arguments"
    m = pld.world_size(nr=1)  # ERROR "E0207.*no parameter nr"

@pl.jit.incore
def sizes(x: pl.Tensor[[4], pl.FP32]):
    n = pld.world_size()  # ERROR "E0308.*world_size is not possible in an incore function"
