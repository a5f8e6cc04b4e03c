package bundle

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/cpp"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/source"
)

// artifact is a kernel that does nothing, and an engine that is none.
func artifact(t *testing.T) *Artifact {
	t.Helper()
	if _, err := toolchain.Find(); err != nil {
		t.Skip(err)
	}
	t.Setenv("PTOC_CACHE", t.TempDir())
	tc, err := toolchain.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tc.Close() })
	f := ir.NewFunc("step", ir.InCore, source.Span{})
	f.AddParam("x", &ir.Tensor{Dims: []ir.Dim{ir.SymDim("N")}, DType: ir.FP32}, ir.InOut)
	ir.NewBuilder(f, f.Body).Return()
	m := &ir.Module{Name: "nothing", Funcs: []*ir.Func{f}, Syms: []string{"N"}}
	code, err := cpp.Generate(m)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tc.Compile(context.Background(), toolchain.Unit{Name: "nothing.cpp", Source: code.Text}, toolchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Artifact{Module: m, Entry: "step", Source: "nothing.pl", Code: code, Kernels: res.Path, Engine: res.Path, Compiler: "g++"}
}

func TestWhatIsWrittenOpens(t *testing.T) {
	a := artifact(t)
	dir := filepath.Join(t.TempDir(), "b")
	for range 2 { // the second replaces the first
		if err := Write(dir, a); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := b.Manifest.Kernels
	if b.Entry != "step" || len(k) != 1 || len(k[0].Params) != 1 || k[0].Syms[0] != "N" || !strings.Contains(b.Program.Text, "def step") {
		t.Errorf("%+v", b)
	}
	// Through a link, the folder behind it is written, and stays where it is.
	link := filepath.Join(filepath.Dir(dir), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	a.Ranks = 7
	if err := Write(link, a); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is replaced: %v, %v", info, err)
	}
	if b, err := Open(dir); err != nil || b.Ranks != 7 {
		t.Errorf("%+v, %v", b, err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".ptoc*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A compiler that is killed leaves a folder; the next one there clears it away, but not what somebody may still write.
func TestWhatAKilledCompilerLeftIsRemoved(t *testing.T) {
	a := artifact(t)
	parent := t.TempDir()
	for name, age := range map[string]time.Duration{".ptoc-bundle-1": 2 * time.Hour, ".ptoc-bundle-2": time.Minute, "mine": 2 * time.Hour} {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, programFile), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(filepath.Join(parent, "b"), a); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".ptoc-bundle-2", "b", "mine"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}

func TestAFolderThatIsNoBundleIsKept(t *testing.T) {
	a := artifact(t)
	dir := t.TempDir()
	keep := filepath.Join(dir, "mine.txt")
	if err := os.WriteFile(keep, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, a); err == nil || !strings.Contains(err.Error(), "not a bundle") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
	// Many things have a manifest.json; and what was put beside a bundle is nobody's to remove.
	if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"name": "a web page"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, a); err == nil || !strings.Contains(err.Error(), "not a bundle") || IsBundle(dir) {
		t.Errorf("%v", err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a bundle") {
		t.Errorf("%v", err)
	}
	made := filepath.Join(t.TempDir(), "made")
	if err := Write(made, a); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(made, "out.npy")
	if err := os.WriteFile(beside, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(made, a); err == nil || !strings.Contains(err.Error(), "has out.npy in it too") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{keep, beside} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	a.Kernels = filepath.Join(dir, "no such file")
	fresh := filepath.Join(t.TempDir(), "b")
	if err := Write(fresh, a); err == nil {
		t.Error("written without its kernels")
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("half a bundle is there")
	}
}

// Another version's manifest may have other things in it than ours.
func TestAManifestOfAnotherVersionSaysSo(t *testing.T) {
	dir := t.TempDir()
	text := []byte(`{"format": 99, "kernels": {"step": 1}, "ranks": "any"}`)
	if err := os.WriteFile(filepath.Join(dir, manifestFile), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "another version of ptoc: bundle format 99, this one reads 4") {
		t.Errorf("%v", err)
	}
}

// A bundle is replaced at once: whoever looks meanwhile finds the old one or the new one.
func TestABundleIsAlwaysThere(t *testing.T) {
	a := artifact(t)
	dir := filepath.Join(t.TempDir(), "b")
	if err := Write(dir, a); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		var err error
		for i := 0; i < 50 && err == nil; i++ {
			err = Write(dir, a)
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if _, err := os.Lstat(filepath.Join(dir, manifestFile)); err != nil {
				t.Errorf("%v", err)
				<-done
				return
			}
		}
	}
}

func TestBundlesThatDoNotFitSaySo(t *testing.T) {
	a := artifact(t)
	for name, tt := range map[string]struct {
		damage func(dir string, m *Manifest)
		want   string
	}{
		"format":  {func(_ string, m *Manifest) { m.Format++ }, "another version of ptoc"},
		"none":    {func(_ string, m *Manifest) { m.Format = 0 }, "is not a bundle"},
		"arch":    {func(_ string, m *Manifest) { m.Arch = "vax" }, "compiled for vax"},
		"cpu":     {func(_ string, m *Manifest) { m.CPU = append(m.CPU, "avx9000") }, "avx9000, which this one lacks"},
		"kernels": {func(dir string, _ *Manifest) { os.Truncate(filepath.Join(dir, kernelsFile), 100) }, "kernels.so is missing or damaged"},
		"engine":  {func(dir string, _ *Manifest) { os.Remove(filepath.Join(dir, engineFile)) }, "engine.so is missing or damaged"},
		"changed": {func(_ string, m *Manifest) { m.Entry += "x" }, "manifest.json or program.pl is damaged"},
		"edited": {func(dir string, _ *Manifest) {
			name := filepath.Join(dir, programFile)
			text, _ := os.ReadFile(name)
			os.WriteFile(name, append(text, "# more\n"...), 0o644)
		}, "manifest.json or program.pl is damaged"},
		"program": {func(dir string, _ *Manifest) { os.Remove(filepath.Join(dir, programFile)) }, "not complete"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "b")
			if err := Write(dir, a); err != nil {
				t.Fatal(err)
			}
			m := a.manifest()
			program, _ := os.ReadFile(filepath.Join(dir, programFile))
			m.Sum, _ = m.seal(string(program))
			tt.damage(dir, m)
			text, _ := json.Marshal(m)
			if err := os.WriteFile(filepath.Join(dir, manifestFile), text, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	os.WriteFile(filepath.Join(t.TempDir(), manifestFile), []byte("{"), 0o644)
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a bundle") {
		t.Errorf("%v", err)
	}
}
