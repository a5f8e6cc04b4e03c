package toolchain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ptoc/internal/cachedir"
)

// A cache entry is a shared object followed by a trailer: the magic, the key
// and a checksum of all before it. Loaders ignore what follows an ELF image. An
// entry whose trailer is not right was damaged or half written; it is made anew.
const magic = "ptoc-so\x01"

const entryExt = ".so"

const trailerSize = len(magic) + 2*sha256.Size

type key [sha256.Size]byte

func (k key) file() string { return hex.EncodeToString(k[:16]) + entryExt }

// makeKey covers everything that the bytes of the object depend on.
func makeKey(parts ...string) key {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d\n%s", len(p), p)
	}
	return key(h.Sum(nil))
}

// cacheDir returns a directory that can be written to. When the user's cache
// cannot, it is a temporary one (temp is true) and why says the reason.
func cacheDir() (dir string, temp bool, why error, err error) {
	dir, why = cachedir.Dir()
	if why == nil {
		if why = tryWrite(dir); why == nil {
			return dir, false, nil, nil
		}
	}
	dir, err = os.MkdirTemp("", "ptoc-cache-")
	return dir, true, why, err
}

func tryWrite(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, cachedir.Temporary)
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// seal appends the trailer to the object in file and makes it the entry of k.
// Its name appears whole or not at all.
func seal(dir, file string, k key) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(append(append(body, magic...), k[:]...))
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(append([]byte(magic), k[:]...), sum[:]...))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	entry := filepath.Join(dir, k.file())
	if info, err := os.Lstat(entry); err == nil && info.IsDir() { // nothing of ours: rename does not replace it
		if err := os.RemoveAll(entry); err != nil {
			return err
		}
	}
	return os.Rename(file, entry)
}

// intact says whether path is a complete entry for k.
func intact(path string, k key) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil || len(all) < trailerSize {
		return false
	}
	sealed, sum := all[:len(all)-sha256.Size], all[len(all)-sha256.Size:]
	want := append([]byte(magic), k[:]...)
	if !bytes.HasSuffix(sealed, want) {
		return false
	}
	got := sha256.Sum256(sealed)
	return bytes.Equal(got[:], sum)
}

// cpuIdentity tells CPUs apart between which -march=native makes different code.
func cpuIdentity() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	// The first CPU is enough, and reading all of a large machine is slow.
	buf := make([]byte, 8192)
	n, _ := io.ReadFull(f, buf)
	var id []string
	for _, line := range strings.Split(string(buf[:n]), "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part":
			id = append(id, strings.TrimSpace(value))
		case "":
			return strings.Join(id, "\n")
		}
	}
	return strings.Join(id, "\n")
}
