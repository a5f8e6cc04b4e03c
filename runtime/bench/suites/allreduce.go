package suites

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"ptoc/codegen/cpp"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/runtime/bench"
	"ptoc/runtime/native"
	"ptoc/runtime/tensor"
	"ptoc/tests/peers"
)

// Allreduce compares the compiled all-reduce with MPI_Allreduce.
type Allreduce struct {
	Ranks []int
	Bytes []bench.Bytes
	DType string // "fp32"
	Mode  string // of pld.tensor.allreduce
	Peer  string // "mpi" or "none"
	Time  time.Duration

	// Progress, if set, is told of each cell that is measured.
	Progress func(string)
}

// The cells that the project's targets are about.
var (
	AllreduceRanks = []int{2, 4, 8}
	AllreduceBytes = []bench.Bytes{4, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20}
)

func (a *Allreduce) check() (ir.DType, error) {
	dt, ok := ir.ParseDType(strings.ToUpper(a.DType))
	if !ok {
		return dt, fmt.Errorf("unknown dtype %q", a.DType)
	}
	if a.Peer == "mpi" && dt != ir.FP32 {
		return dt, fmt.Errorf("the MPI peer reduces fp32 only, not %s: add --peer none", a.DType)
	}
	for _, b := range a.Bytes {
		if b <= 0 || int64(b)%int64(dt.Size()) != 0 {
			return dt, fmt.Errorf("%s bytes are no whole number of %s", b, dt)
		}
	}
	return dt, nil
}

// cell is one line of the table. All times are per call.
type cell struct {
	ranks              int
	bytes              bench.Bytes
	chosen             string
	ours, oursRewrite  bench.Stats
	peer, peerRewrite  bench.Stats
	net, peerNet       call
	ratio, wholeRatios bench.Ratio
}

// call is the time of an all-reduce without the rewriting of its input.
type call struct{ min, median float64 }

func netOf(both, rewrite bench.Stats) call {
	// The rewriting has no reason to be slow but others' work, hence its minimum. Never below a tenth
	// of what was measured: a difference of two noisy numbers may be anything.
	less := func(a float64) float64 { return max(a-rewrite.Min, a/10) }
	return call{less(both.Min), less(both.Median)}
}

// Run measures all cells.
func (a *Allreduce) Run(ctx context.Context) (*bench.Table, error) {
	dt, err := a.check()
	if err != nil {
		return nil, err
	}
	var cells []*cell
	library := ""
	for _, ranks := range a.Ranks {
		var peer *peers.Peer
		if a.Peer == "mpi" {
			if peer, err = peers.StartMPI(ctx, ranks); err != nil {
				return nil, err
			}
			library = peer.Library
		}
		for _, bytes := range a.Bytes {
			if a.Progress != nil {
				a.Progress(fmt.Sprintf("%d ranks, %s", ranks, bytes))
			}
			c, err := a.measure(ctx, dt, ranks, bytes, peer)
			if err != nil {
				return nil, fmt.Errorf("%d ranks, %s bytes: %w", ranks, bytes, err)
			}
			cells = append(cells, c)
		}
		if peer != nil {
			peer.Close()
		}
	}
	return a.table(cells, library), nil
}

func (a *Allreduce) measure(ctx context.Context, dt ir.DType, ranks int, bytes bench.Bytes, peer *peers.Peer) (*cell, error) {
	r, err := startRig(ctx, dt, a.Mode, ranks, int64(bytes))
	if err != nil {
		return nil, err
	}
	defer r.e.Close()
	c := &cell{ranks: ranks, bytes: bytes, chosen: r.chosen}
	sides := []bench.Side{r.side("ptoc", r.allreduces), r.side("ptoc's rewriting", r.rewrites)}
	if peer != nil {
		sides = append(sides, batches(peer, peers.Request{Bytes: int64(bytes)}), batches(peer, peers.Request{Bytes: int64(bytes), RewriteOnly: true}))
	}
	stats, err := bench.Interleave(ctx, bench.Budget{Time: a.Time, Rounds: rounds, MinCalls: 2 * rounds, MaxCalls: 1 << 30}, sides...)
	if err != nil {
		return nil, err
	}
	if err := r.verify(); err != nil {
		return nil, err
	}
	c.ours, c.oursRewrite = stats[0], stats[1]
	c.net = netOf(c.ours, c.oursRewrite)
	if peer != nil {
		c.peer, c.peerRewrite = stats[2], stats[3]
		c.peerNet = netOf(c.peer, c.peerRewrite)
		c.ratio = bench.Ratio{Median: c.peerNet.median / c.net.median, Min: c.peerNet.min / c.net.min}
		c.wholeRatios = bench.Speedup(c.ours, c.peer)
	}
	return c, nil
}

// rounds is the number of turns that each side gets; a turn is one batch of calls, timed together.
const rounds = 30

// batches makes n calls of the peer as one batch.
func batches(p *peers.Peer, r peers.Request) bench.Side {
	name := p.Library
	if r.RewriteOnly {
		name += "'s rewriting"
	}
	return bench.Side{Name: name, Measure: func(ctx context.Context, n int) ([]float64, error) {
		r.Iters, r.Batch = 1, max(n, 2)
		s, err := p.Measure(ctx, r)
		return s.NS, err
	}}
}

// rig is an engine with the benchmark's kernels, windows and inputs.
type rig struct {
	e                    *native.Engine
	dt                   ir.DType
	elems                int64
	chosen               string
	allreduces, rewrites job
	dom                  native.Domain
	inputs               []native.Buffer  // by rank
	windows              map[string]int64 // offsets, by the kernels' parameters
	calls                int              // of the last batch
}

// job is a kernel and its arguments, by rank.
type job struct {
	k       native.Kernel
	args    [][]native.Arg
	callsAt int // the place of "calls" among them
}

func startRig(ctx context.Context, dt ir.DType, mode string, ranks int, bytes int64) (*rig, error) {
	r := &rig{dt: dt, elems: bytes / int64(dt.Size())}
	signal := "[NR, 1]"
	if mode == "ring" {
		signal = "[2 * (NR - 1), NR]"
	}
	file := program("allreduce.pl", "pl.DTYPE", "pl."+dt.String(), "SIGNAL", signal, "MODE", mode)
	c, err := compile(ctx, file, check.Options{Defines: map[string]string{"SIZE": fmt.Sprint(r.elems)}}, ranks)
	if err != nil {
		return nil, err
	}
	for _, choice := range c.choices {
		r.chosen = choice.Chosen
		if strings.Contains(choice.Why, "streaming") {
			r.chosen += ", streaming"
		}
	}
	if r.e, err = native.Open(native.Config{Ranks: ranks, EnginePath: c.engine}); err != nil {
		return nil, err
	}
	if err := r.prepare(c); err != nil {
		r.e.Close()
		return nil, err
	}
	return r, nil
}

// prepare allocates what the kernels need.
func (r *rig) prepare(c *compiled) error {
	ranks := r.e.Ranks()
	all := make([]int, ranks)
	for i := range all {
		all[i] = i
	}
	var err error
	if r.dom, err = r.e.Domain(all); err != nil {
		return err
	}
	mod, err := r.e.Load(c.path)
	if err != nil {
		return err
	}
	for rank := range ranks {
		b, err := r.e.Alloc(r.elems * int64(r.dt.Size()))
		if err != nil {
			return err
		}
		r.fill(b, rank)
		r.inputs = append(r.inputs, b)
	}
	r.windows = map[string]int64{}
	for _, k := range c.kernels {
		j := map[string]*job{"allreduces": &r.allreduces, "rewrites": &r.rewrites}[k.Name]
		if j == nil {
			continue
		}
		if j.k, err = r.e.Kernel(mod, k.Name); err != nil {
			return err
		}
		for rank := range ranks {
			args, err := r.arguments(k, j, rank)
			if err != nil {
				return err
			}
			j.args = append(j.args, args)
		}
	}
	return nil
}

// arguments are what a rank's kernel gets: its input, windows (those of the program and those that passes added), and
// the number of calls, which comes with each batch.
func (r *rig) arguments(k cpp.Kernel, j *job, rank int) ([]native.Arg, error) {
	var args []native.Arg
	for _, p := range k.Params {
		t, memory := p.Type.(*ir.Tensor)
		switch {
		case !memory:
			j.callsAt = len(args)
			args = append(args, native.Int(0))
		case !p.Window:
			args = append(args, native.Heap(r.inputs[rank].Offset))
		default:
			at, err := r.window(p.Name, t)
			if err != nil {
				return nil, err
			}
			args = append(args, native.InDomain(r.dom), native.Int(at))
		}
	}
	for range k.Syms { // NR is the only one
		args = append(args, native.Int(int64(r.e.Ranks())))
	}
	return args, nil
}

// window is the allocation for a parameter of that name.
func (r *rig) window(name string, t *ir.Tensor) (int64, error) {
	if at, ok := r.windows[name]; ok {
		return at, nil
	}
	bytes, err := t.Bytes().Eval(func(ir.Atom) (int64, bool) { return int64(r.e.Ranks()), true })
	if err != nil {
		return 0, err
	}
	r.windows[name], err = r.e.AllocWindow(bytes)
	return r.windows[name], err
}

// fill writes small whole numbers, whose sums are exact in every dtype.
func (r *rig) fill(b native.Buffer, rank int) {
	t, err := tensor.Wrap(r.dt, []int64{r.elems}, b.Data)
	if err != nil {
		panic(err) // the buffer was made for it
	}
	for i := range r.elems {
		t.SetFloat(i, float64(base(rank, i)))
	}
}

func base(rank int, i int64) int64 { return (int64(rank)*3 + i) % 17 }

// side runs n calls as one batch on all ranks, and times them from dispatch to the last rank's end.
func (r *rig) side(name string, j job) bench.Side {
	return bench.Side{Name: name, Measure: func(ctx context.Context, n int) ([]float64, error) {
		r.calls = n
		start := time.Now()
		for rank, args := range j.args {
			args[j.callsAt] = native.Int(int64(n))
			if _, err := r.e.Submit(rank, j.k, args); err != nil {
				return nil, err
			}
		}
		if err := r.e.Wait(ctx); err != nil {
			return nil, err
		}
		return []float64{float64(time.Since(start)) / float64(n)}, nil
	}}
}

// verify runs a batch and looks at every rank's result.
func (r *rig) verify() error {
	if _, err := r.side("", r.allreduces).Measure(context.Background(), 3); err != nil {
		return err
	}
	for rank := range r.e.Ranks() {
		t, err := tensor.Wrap(r.dt, []int64{r.elems}, r.e.Window(rank, r.windows["data"], r.elems*int64(r.dt.Size())))
		if err != nil {
			return err
		}
		for i := range r.elems {
			want := int64(r.e.Ranks()) * int64(r.calls-1)
			for p := range r.e.Ranks() {
				want += base(p, i)
			}
			if got := t.Float(i); got != float64(want) {
				return fmt.Errorf("rank %d has %v in element %d, expected %d", rank, got, i, want)
			}
		}
	}
	return nil
}

func (a *Allreduce) table(cells []*cell, library string) *bench.Table {
	columns := []string{"ranks", "bytes", "algorithm", "min", "median", "algbw GB/s", "busbw GB/s"}
	if library != "" {
		columns = append(columns, "MPI min", "MPI median", "faster by min", "by median", "with rewriting")
	}
	t := bench.NewTable(columns...)
	var ratios, whole []bench.Ratio
	for _, c := range cells {
		bus, _ := bench.Allreduce.BusBW(c.ranks, int64(c.bytes), c.net.min)
		row := []any{c.ranks, c.bytes, c.chosen, bench.Nanos(c.net.min), bench.Nanos(c.net.median), bench.AlgBW(int64(c.bytes), c.net.min), bus}
		if library != "" {
			row = append(row, bench.Nanos(c.peerNet.min), bench.Nanos(c.peerNet.median), bench.Times(c.ratio.Min), bench.Times(c.ratio.Median), bench.Times(c.wholeRatios.Min))
			ratios, whole = append(ratios, c.ratio), append(whole, c.wholeRatios)
		}
		t.Row(row...)
	}
	if library != "" {
		g, w := bench.GeoMeanRatio(ratios), bench.GeoMeanRatio(whole)
		t.Note("geometric mean: %s by min, %s by median, %s with rewriting", bench.Times(g.Min), bench.Times(g.Median), bench.Times(w.Min))
		t.Note("Peer: MPI_Allreduce of %s, in place, its ranks are processes; measured in turns with ours, whose ranks are threads and sleep meanwhile.", library)
	}
	t.Note("Our data starts in the window that ranks share; a library such as MPI starts from private memory, which it has to copy.")
	t.Note("A sample is a batch of (rewrite the input, all-reduce), timed from outside and divided by its length. Times are without the")
	t.Note("rewriting, which is measured by itself in the same turns on both sides; \"with rewriting\" compares the whole.")
	t.Note("%d CPUs for all ranks.", runtime.NumCPU())
	return t
}
