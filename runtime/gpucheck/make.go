// Package gpucheck is `ptoc gpu-check`: with a GPU at hand, it runs prebuilt bundles of every example and of
// the conformance programs, measures a few kernels, and writes down what came out. It needs the driver and
// nothing else; Make builds the bundles, where there is LLVM.
package gpucheck

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ptoc/codegen/bundle"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/runtime/conform"
	"ptoc/runtime/run"
)

//go:embed programs/*.pl
var programs embed.FS

// Folders of bundles.
const (
	exampleDir = "examples"
	benchDir   = "bench"
	conformDir = "conform"
)

// Make compiles the examples in files, the conformance programs and the benchmarks into dir.
func Make(ctx context.Context, dir string, files []string) error {
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".pl")
		if err := compile(ctx, f, nil, filepath.Join(dir, exampleDir, name)); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	tmp, err := os.MkdirTemp("", "ptoc-gpu-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, b := range benches {
		text, err := programs.ReadFile("programs/" + b.program + ".pl")
		if err != nil {
			return err
		}
		name := filepath.Join(tmp, b.folder()+".pl")
		if err := os.WriteFile(name, []byte(strings.NewReplacer(b.replace...).Replace(string(text))), 0o644); err != nil {
			return err
		}
		if err := compile(ctx, name, b.defines, filepath.Join(dir, benchDir, b.folder())); err != nil {
			return fmt.Errorf("benchmark %s: %w", b.name, err)
		}
	}
	m, _, err := conform.Module()
	if err != nil {
		return err
	}
	name := filepath.Join(tmp, "conform.pl")
	if err := os.WriteFile(name, []byte(ir.Print(m)), 0o644); err != nil {
		return err
	}
	return compileEntry(ctx, name, m.Funcs[0].Name, nil, filepath.Join(dir, conformDir))
}

func compile(ctx context.Context, file string, defines map[string]string, dir string) error {
	return compileEntry(ctx, file, "", defines, dir)
}

func compileEntry(ctx context.Context, file, entry string, defines map[string]string, dir string) error {
	a, _, err := run.Build(ctx, run.BuildOptions{File: file, Target: bundle.CUDA, Check: check.Options{Defines: defines, Entry: entry}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return bundle.Write(dir, a)
}
