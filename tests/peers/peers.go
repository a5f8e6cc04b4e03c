// Package peers runs other systems' collectives as child processes, command by
// command, so that a benchmark can interleave them with its own measurements.
// The only peer so far is Open MPI's MPI_Allreduce; mpi/mpi_allreduce.c says
// what one of its samples is.
package peers

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed mpi/mpi_allreduce.c
var allreduceSource []byte

// Tools are the programs that build and start the peer.
type Tools struct {
	MPICC   string // path of the compiler wrapper
	MPIRun  string // path of the launcher
	Version string // what mpirun says of itself: "mpirun (Open MPI) 4.1.4"
}

const install = "install it with: apt-get install -y openmpi-bin libopenmpi-dev"

// Find looks for Open MPI. Its error is the reason to print when a peer
// measurement or a test is left out.
func Find() (Tools, error) {
	var t Tools
	var err error
	if t.MPICC, err = exec.LookPath("mpicc"); err != nil {
		return Tools{}, errors.New("mpicc is not in PATH; " + install)
	}
	if t.MPIRun, err = exec.LookPath("mpirun"); err != nil {
		return Tools{}, errors.New("mpirun is not in PATH; " + install)
	}
	out, err := exec.Command(t.MPIRun, "--version").CombinedOutput()
	if err != nil {
		return Tools{}, fmt.Errorf("%s --version: %w", t.MPIRun, err)
	}
	t.Version, _, _ = strings.Cut(string(out), "\n")
	if !strings.Contains(t.Version, "Open MPI") {
		return Tools{}, fmt.Errorf("%s is %q, expected Open MPI; %s", t.MPIRun, t.Version, install)
	}
	return t, nil
}

// Build compiles the peer into dir and returns the program's path; it does
// nothing when the program is there already. An empty dir means the user's
// cache directory.
func (t Tools) Build(ctx context.Context, dir string) (string, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache directory for the MPI peer: %w", err)
		}
		dir = filepath.Join(cache, "ptoc", "peers")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "mpi_allreduce-"+t.key())
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	src, tmp := filepath.Join(work, "mpi_allreduce.c"), filepath.Join(work, "mpi_allreduce")
	if err := os.WriteFile(src, allreduceSource, 0o644); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, t.MPICC, "-O3", "-o", tmp, src).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", t.MPICC, err, out)
	}
	// The rename makes a half-written program invisible to others.
	return exe, os.Rename(tmp, exe)
}

func (t Tools) key() string {
	h := sha256.New()
	h.Write(allreduceSource)
	fmt.Fprintf(h, "\x00%s\x00%s", t.MPICC, t.Version)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// StartMPI finds Open MPI, builds the peer in the user's cache and starts it.
func StartMPI(ctx context.Context, ranks int) (*Peer, error) {
	t, err := Find()
	if err != nil {
		return nil, err
	}
	exe, err := t.Build(ctx, "")
	if err != nil {
		return nil, err
	}
	return t.Start(ctx, exe, ranks)
}
