package ptxrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A rank that multiplies what another one sends, a chunk at a time, into one place or into places of their own.
const received = `import ptoc.language as pl
import ptoc.distributed as pld

NR = pl.dynamic("NR")
T = 6

@pl.jit.incore
def send(x: pl.Tensor[[32, 96], pl.BF16], data: pl.InOut[pld.DistributedTensor[[PLACES, 32, 16], pl.BF16]],
         signal: pl.InOut[pld.DistributedTensor[[T + 1, 1], pl.INT32]], n: pl.Scalar[pl.INDEX]):
    ctx = pld.get_comm_ctx(signal)
    for k in pl.range(n):
        if PLACES == 1:
            pld.wait(signal, [T, 0], k * (pld.nranks(ctx) - 1))
        for p in pl.range(1, pld.nranks(ctx)):
            pld.remote_store(pl.load(x, [0, 16 * k], [32, 16]), data[k % PLACES], p, [0, 0])
            pld.notify(signal, p, [k, 0], 1)

@pl.jit.inline
def there(signal: pl.InOut[pld.DistributedTensor[[T + 1, 1], pl.INT32]], k: pl.Scalar[pl.INDEX]):
    pld.wait(signal, [k, 0], 1)

@pl.jit.incore
def await_chunk(signal: pl.InOut[pld.DistributedTensor[[T + 1, 1], pl.INT32]], k: pl.Scalar[pl.INDEX]):
    pld.wait(signal, [k, 0], 1)

@pl.jit
def multiply(b: pl.Tensor[[96, 32], pl.BF16], c: pl.InOut[pl.Tensor[[32, 32], pl.FP32]],
             data: pl.InOut[pld.DistributedTensor[[PLACES, 32, 16], pl.BF16]],
             signal: pl.InOut[pld.DistributedTensor[[T + 1, 1], pl.INT32]], n: pl.Scalar[pl.INDEX]):
    acc = pl.full([32, 32], pl.FP32, 0.0)
    for k in LOOP:
        BODY
    return pl.store(acc, [0, 0], c)

@pl.jit.host
def main(x: pl.Tensor[[32, 96], pl.BF16], b: pl.Tensor[[96, 32], pl.BF16], c: pl.InOut[pl.Tensor[[NR, 32, 32], pl.FP32]]):
    places = pld.alloc_window_buffer([PLACES, 32, 16], dtype=pl.BF16)
    cells = pld.alloc_window_buffer([T + 1, 1], dtype=pl.INT32)
    data = pld.window(places, [PLACES, 32, 16], dtype=pl.BF16)
    signal = pld.window(cells, [T + 1, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        if r == 0:
            send(x, data, signal, T, device=r)
        else:
            multiply(b, c[r], data, signal, T, device=r)

@pl.golden(of=main)
def expected(x, b, c):
    for r in pl.range(1, NR):
        c[r] = pl.matmul(x, b)
`

// Loads of what another rank sends stay behind the wait for it, and before the notify that lets it send more: however
// these stand in the loop, and whether or not it asks for loads that run ahead.
func TestLoadsStayBehindWaits(t *testing.T) {
	const product = "acc = pl.matmul_acc(acc, pl.load(data[k % PLACES], [0, 0], [32, 16]), pl.load(b, [16 * k, 0], [16, 32]))"
	bodies := map[string]string{
		"a wait":            "pld.wait(signal, [k, 0], 1)",
		"in a branch":       "if k % 2 == 0:\n    pld.wait(signal, [k, 0], 1)\n    pld.wait(signal, [k + 1, 0], 1)",
		"in a loop":         "for j in pl.range(k + 1):\n    pld.wait(signal, [j, 0], 1)",
		"in a while":        "j = 0\nwhile j <= k:\n    pld.wait(signal, [j, 0], 1)\n    j = j + 1",
		"in an inline call": "there(signal, k)",
		"in a call":         "await_chunk(signal, k)",
		"with an answer":    "pld.wait(signal, [k, 0], 1)\nPRODUCT\npld.notify(signal, 0, [T, 0], 1)",
	}
	for what, body := range bodies {
		if !strings.Contains(body, "PRODUCT") {
			body += "\nPRODUCT"
		}
		for _, loop := range []string{"pl.range(T)", "pl.pipeline(T, stage=3)"} {
			places := "6"
			if strings.Contains(body, "notify") {
				places = "1"
			}
			text := strings.ReplaceAll(body, "\n", "\n        ")
			text = strings.NewReplacer("LOOP", loop, "BODY", text).Replace(received)
			text = strings.ReplaceAll(strings.ReplaceAll(text, "PRODUCT", product), "PLACES", places)
			file := filepath.Join(t.TempDir(), "received.pl")
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, r, err := runFile(file, 2, Config{Races: true, Patience: 5e6})
			if errors.Is(err, ErrMissing) {
				t.Skip(err)
			}
			if err == nil && wrong(r) != "" {
				err = fmt.Errorf("%s", wrong(r))
			}
			if err != nil {
				t.Errorf("%s, %s: %v", what, loop, err)
			}
		}
	}
}
