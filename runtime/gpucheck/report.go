package gpucheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"ptoc/runtime/bench"
)

// Markdown is the report as a page.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Check on a GPU, %s\n\n", r.When.Format("2006-01-02 15:04"))
	if r.NoGPU != "" {
		fmt.Fprintf(&b, "Nothing was checked: %s.\n", r.NoGPU)
		return b.String()
	}
	g := r.GPU
	fmt.Fprintf(&b, "%s (%s, %d multiprocessors, %.1f GiB), driver for CUDA %d.%d. Took %.0f s.\n\n", g.Name, g.Arch(), g.Multiprocessors,
		float64(g.Memory)/(1<<30), r.Driver/1000, r.Driver%1000/10, r.Took.Seconds())
	if r.Late {
		b.WriteString("**The time was used up: what is missing below was not run.**\n\n")
	}
	if r.Stopped {
		b.WriteString("**The GPU stopped, and works again only in a new process: what is missing below was not run.**\n\n")
	}
	r.outcomes(&b, "Examples, all ranks on one GPU", r.Runs)
	r.outcomes(&b, "Every op against the simulator", r.Trials)
	if len(r.Timings) > 0 {
		fmt.Fprintf(&b, "## Times\n\nCopy within the GPU's memory: %.0f GB/s, read plus written. Times are the GPU's, medians; ranks are blocks, "+
			"so a benchmark uses as many multiprocessors as it has ranks, at most.\n\n", r.Copy/1e9)
		r.timings(&b, r.Timings)
	}
	if len(r.Peers) > 0 {
		b.WriteString("### PyTorch and Triton, in the same run\n\n")
		r.timings(&b, r.Peers)
	}
	if r.PeerErr != "" {
		fmt.Fprintf(&b, "Of PyTorch and Triton: %s.\n", r.PeerErr)
	}
	return b.String()
}

// JSON is the report for tools.
func (r *Report) JSON() ([]byte, error) {
	out := map[string]any{"when": r.When.Format(time.RFC3339)}
	if r.NoGPU != "" {
		out["noGpu"] = r.NoGPU
		return json.MarshalIndent(out, "", "  ")
	}
	outcomes := func(all []Outcome) []Outcome { return append([]Outcome{}, all...) } // none are [], not null
	maps.Copy(out, map[string]any{"gpu": r.GPU.Name, "arch": r.GPU.Arch(), "cuda": r.Driver, "seconds": r.Took.Seconds(), "late": r.Late,
		"stopped": r.Stopped, "failed": r.Failed(), "examples": outcomes(r.Runs), "ops": outcomes(r.Trials), "copyBytesPerSecond": r.Copy,
		"times": r.Timings, "peers": r.Peers, "peersError": r.PeerErr})
	return json.MarshalIndent(out, "", "  ")
}

func (r *Report) outcomes(b *strings.Builder, title string, all []Outcome) {
	var wrong []Outcome
	for _, o := range all {
		if o.Err != "" {
			wrong = append(wrong, o)
		}
	}
	fmt.Fprintf(b, "## %s\n\n%d of %d runs are right.\n\n", title, len(all)-len(wrong), len(all))
	for _, o := range wrong {
		fmt.Fprintf(b, "- %s on %d ranks: %s\n", o.Program, o.Ranks, o.Err)
	}
	if len(wrong) > 0 {
		b.WriteString("\n")
	}
}

func (r *Report) timings(b *strings.Builder, ts []Timing) {
	t := bench.NewTable("benchmark", "time", "GB/s", "of copy", "TFLOP/s", "of dense peak")
	for _, x := range ts {
		if x.Err != "" {
			t.Row(x.Name, x.Err)
			continue
		}
		row := []any{x.Name, bench.Nanos(x.NS), "", "", "", ""}
		if x.Bytes > 0 && x.NS > 0 {
			rate := x.Bytes / x.NS * 1e9
			row[2], row[3] = fmt.Sprintf("%.1f", rate/1e9), percent(rate, r.Copy)
		}
		if x.Flops > 0 && x.NS > 0 {
			rate := x.Flops / x.NS * 1e9
			row[4], row[5] = fmt.Sprintf("%.2f", rate/1e12), percent(rate, peak(r.GPU, x.DType))
		}
		t.Row(row...)
	}
	t.WriteMarkdown(b)
	b.WriteString("\n")
}

func percent(x, of float64) string {
	if of <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*x/of)
}
