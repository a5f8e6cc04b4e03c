package entry

import (
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

const kernel = `
@pl.jit.incore
def %s(x: pl.InOut[pl.Tensor[[8], pl.FP32]]):
    x[:] = x[:] + 1.0
`

const host = `
@pl.jit.host
def %s(x: pl.InOut[pl.Tensor[[8], pl.FP32]]):
    step(x, device=0)
`

func program(t *testing.T, parts ...string) (*ir.Module, *source.File) {
	t.Helper()
	var text strings.Builder
	for _, name := range parts {
		if name, ok := strings.CutPrefix(name, "host "); ok {
			text.WriteString(strings.Replace(host, "%s", name, 1))
			continue
		}
		text.WriteString(strings.Replace(kernel, "%s", name, 1))
	}
	list := &diag.List{}
	file := source.NewFile("p.pl", text.String())
	m, _ := check.Read(file, check.Options{}, list)
	if list.HasErrors() {
		t.Fatal(list)
	}
	return m, file
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		parts   []string
		name    string
		kernels bool
		want    string // the function, or what the error says
	}{
		{[]string{"step", "host a"}, "", true, "a"},
		{[]string{"step", "host a", "host main"}, "", false, "main"},
		{[]string{"step", "host a", "host b"}, "", false, "p.pl defines several programs: a and b"},
		{[]string{"step", "host a", "host b"}, "b", false, "b"},
		{[]string{"step", "host a"}, "a_factory", false, "a"},
		{[]string{"step", "host a"}, "step", true, "no program begins at incore function step"},
		{[]string{"step"}, "", true, "step"},
		{[]string{"step"}, "step", true, "step"},
		{[]string{"step"}, "", false, "p.pl defines no host function"},
		{[]string{"step"}, "step", false, "no program begins at incore function step"},
		{[]string{"step", "other"}, "", true, "p.pl defines several programs: step and other"},
	} {
		m, file := program(t, c.parts...)
		f, d := Find(m, file, c.name, c.kernels)
		got := ""
		if d != nil {
			got = d.Message
			if d.Code != diag.NoEntry || d.At.File != file {
				t.Errorf("%q: %v", c.parts, d)
			}
		} else {
			got = f.Name
		}
		if got != c.want {
			t.Errorf("%q, %q, %v: %q, want %q", c.parts, c.name, c.kernels, got, c.want)
		}
	}
}
