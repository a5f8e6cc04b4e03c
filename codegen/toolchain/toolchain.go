package toolchain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"ptoc/internal/cachedir"
)

// Unit is what becomes one shared object: one C++ text or several.
type Unit struct {
	Name   string // for messages
	Source string
	Parts  []string // instead of Source: texts that are compiled side by side and linked
}

// texts are all that the unit consists of.
func (u Unit) texts() []string {
	if len(u.Parts) > 0 {
		return u.Parts
	}
	return []string{u.Source}
}

// Result says what became of a Unit.
type Result struct {
	Path   string        // the shared object, in the cache
	Cached bool          // it was there already
	Time   time.Duration // spent compiling
}

// Toolchain compiles units through the cache. It may be used by several
// goroutines at once.
type Toolchain struct {
	dir  string
	temp bool
	cpu  string

	find  func() (*Compiler, error)
	slots chan struct{} // bounds the compilers that run at once

	mu     sync.Mutex
	flight map[key]*flight
	pruned sync.Once
}

type flight struct {
	done chan struct{}
	res  Result
	err  error
}

// Open opens the cache: $PTOC_CACHE, or ptoc in the user's cache directory, or
// when that cannot be written, a temporary directory that Close removes.
func Open() (*Toolchain, error) {
	dir, temp, why, err := cacheDir()
	if err != nil {
		return nil, fmt.Errorf("no directory for compiled kernels: %w", err)
	}
	if temp {
		slog.Warn("compiled kernels are not kept: the cache directory cannot be used", "reason", why, "instead", dir)
	}
	return &Toolchain{
		dir: dir, temp: temp, cpu: cpuIdentity(),
		find:   sync.OnceValues(Find),
		slots:  make(chan struct{}, runtime.GOMAXPROCS(0)),
		flight: map[key]*flight{},
	}, nil
}

// Dir is where compiled objects are.
func (t *Toolchain) Dir() string { return t.dir }

// Close removes the temporary cache, if that is what is used.
func (t *Toolchain) Close() error {
	if t.temp {
		return os.RemoveAll(t.dir)
	}
	return nil
}

// Compiler returns the compiler in use, or ErrNoCompiler.
func (t *Toolchain) Compiler() (*Compiler, error) { return t.find() }

// Compile returns the shared object of u, from the cache when it is there.
func (t *Toolchain) Compile(ctx context.Context, u Unit, o Options) (Result, error) {
	c, err := t.find()
	if err != nil {
		return Result{}, err
	}
	k := makeKey(c.Identity, t.cpu, strings.Join(o.flags(), " "), strings.Join(o.libs(), " "), u.Name, strings.Join(u.texts(), "\x00"))
	t.mu.Lock()
	f, running := t.flight[k]
	if !running {
		f = &flight{done: make(chan struct{})}
		t.flight[k] = f
	}
	t.mu.Unlock()
	if running { // the same unit twice: compile it once
		select {
		case <-f.done:
			return f.res, f.err
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
	f.res, f.err = t.compile(ctx, c, k, u, o)
	t.mu.Lock()
	delete(t.flight, k)
	t.mu.Unlock()
	close(f.done)
	return f.res, f.err
}

func (t *Toolchain) compile(ctx context.Context, c *Compiler, k key, u Unit, o Options) (Result, error) {
	path := filepath.Join(t.dir, k.file())
	cachedir.Use(path)
	if intact(path, k) {
		return Result{Path: path, Cached: true}, nil
	}
	t.pruned.Do(func() { cachedir.Prune(t.dir, entryExt) })
	start := time.Now()
	tmp, err := t.temporary(".so")
	if err != nil {
		return Result{}, err
	}
	defer os.Remove(tmp) // fails when it was renamed: what we want
	if err := t.build(ctx, c, u, o, tmp); err != nil {
		return Result{}, err
	}
	if err := seal(t.dir, tmp, k); err != nil {
		return Result{}, err
	}
	return Result{Path: path, Time: time.Since(start)}, nil
}

// temporary makes an empty file beside the entries.
func (t *Toolchain) temporary(ext string) (string, error) {
	f, err := os.CreateTemp(t.dir, cachedir.Temporary+"*"+ext)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// build compiles u into the file out.
func (t *Toolchain) build(ctx context.Context, c *Compiler, u Unit, o Options, out string) error {
	texts := u.texts()
	if len(texts) == 1 {
		return t.inSlot(ctx, func() error { return c.compile(ctx, u.Name, texts[0], o, out) })
	}
	objects, errs := make([]string, len(texts)), make([]error, len(texts))
	for i := range texts {
		if objects[i], errs[i] = t.temporary(".o"); errs[i] != nil {
			return errs[i]
		}
		defer os.Remove(objects[i])
	}
	var wg sync.WaitGroup
	for i, text := range texts {
		wg.Go(func() {
			errs[i] = t.inSlot(ctx, func() error { return c.object(ctx, u.Name, text, o, objects[i]) })
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.inSlot(ctx, func() error { return c.link(ctx, u.Name, objects, o, out) })
}

// inSlot runs a compiler when there are not too many.
func (t *Toolchain) inSlot(ctx context.Context, run func() error) error {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return run()
}

// Export copies a compiled object to path; the file appears whole or not at all.
func Export(object, path string) error {
	data, err := os.ReadFile(object)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o755)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Intact says whether the object at path still is what the toolchain sealed,
// for objects that left the cache by Export.
func Intact(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < trailerSize {
		return false
	}
	var k key
	copy(k[:], data[len(data)-trailerSize+len(magic):])
	return intact(path, k)
}
