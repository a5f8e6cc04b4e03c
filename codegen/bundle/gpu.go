package bundle

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"ptoc/codegen/ptx"
	"ptoc/ir"
)

// CUDA is the target of bundles for GPUs.
const CUDA = "cuda"

const ptxFile = "kernels.ptx"

// GPUCode is what the PTX backend made of a module.
type GPUCode struct {
	*ptx.Output
	Text string // PTX
	Arch string // "sm_80"
}

func (g *GPUCode) fill(dir string) error {
	return os.WriteFile(filepath.Join(dir, ptxFile), []byte(g.Text), 0o644)
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// describe fills in the manifest.
func (g *GPUCode) describe(m *Manifest) {
	m.Target, m.GPU, m.PTXSum = CUDA, g.Arch, sum(g.Text)
	m.Arch, m.CPU = "", nil
	for _, k := range g.Kernels {
		n, known := k.Arena.Const()
		out := Kernel{Name: k.Name, Kind: k.Kind.String(), Params: []Param{}, Syms: k.Syms, Threads: k.Threads, Shared: k.Shared, Arena: !known || n > 0,
			Grid: k.Grid, Told: k.Told, Tensors: k.Tensors}
		for i, p := range k.Func.Params() {
			t, memory := p.Type.(*ir.Tensor)
			out.Params = append(out.Params, Param{Name: p.Name, Type: p.Type.String(), Dir: k.Func.Dirs[i].String(), Window: memory && t.Window})
		}
		m.Kernels = append(m.Kernels, out)
	}
	for _, s := range g.Sites {
		m.addSite(s.Func, s.Op, s.Span)
	}
}

// readPTX reads the kernels and holds them against the manifest.
func (b *Bundle) readPTX(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, ptxFile))
	if err != nil {
		return fmt.Errorf("%s: the bundle is not complete: %w", dir, err)
	}
	if sum(string(text)) != b.PTXSum {
		return fmt.Errorf("%s: %s is damaged: compile the program again", dir, ptxFile)
	}
	b.PTX = string(text)
	return nil
}

// GPUKernels are the kernels of a bundle for GPUs; m is its program, checked.
func (b *Bundle) GPUKernels(m *ir.Module) ([]ptx.Kernel, error) {
	var out []ptx.Kernel
	for _, k := range b.Manifest.Kernels {
		f := m.Func(k.Name)
		if f == nil {
			return nil, fmt.Errorf("the bundle's program has no kernel %s", k.Name)
		}
		p, err := ptx.Again(ptx.Kernel{Name: k.Name, Syms: k.Syms, Threads: k.Threads, Shared: k.Shared, Grid: k.Grid, Told: k.Told, Tensors: k.Tensors}, f, k.Arena)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
