package tensor

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ptoc/internal/wholefile"
)

// Load reads FILE.npy, or the array key of FILE.npz. An .npz with a single
// array needs no key.
func Load(file, key string) (*Tensor, error) {
	t, err := load(file, key)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) { // says the file's name already
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

func load(file, key string) (*Tensor, error) {
	if strings.HasSuffix(file, ".npz") {
		return loadNPZ(file, key)
	}
	if key != "" {
		return nil, fmt.Errorf("a .npy file has one array, without keys; found the key %q", key)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := int64(-1) // of a pipe
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	return ReadNPY(f, size)
}

func loadNPZ(file, key string) (*Tensor, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ReadNPZ(f, info.Size(), key)
}

// ReadNPZ reads one array out of the size bytes of an .npz archive.
func ReadNPZ(r io.ReaderAt, size int64, key string) (*Tensor, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not an .npz file: %w", err)
	}
	var keys []string
	var found *zip.File
	for _, e := range z.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		if !ok {
			continue
		}
		keys = append(keys, name)
		if name == key || key == "" {
			found = e
		}
	}
	if found == nil || key == "" && len(keys) > 1 {
		return nil, fmt.Errorf("expected one of the keys %s, found %q", strings.Join(keys, ", "), key)
	}
	// zip checks a CRC, but what the directory says of sizes is a claim like any other.
	data, err := found.Open()
	if err != nil {
		return nil, fmt.Errorf("array %s: %w", found.Name, err)
	}
	defer data.Close()
	t, err := ReadNPY(data, -1)
	if err == nil {
		err = expectEnd(data)
	}
	if err != nil {
		return nil, fmt.Errorf("array %s: %w", found.Name, err)
	}
	return t, nil
}

// expectEnd also makes zip verify the CRC, which it does at the end only.
func expectEnd(r io.Reader) error {
	switch n, err := r.Read(make([]byte, 1)); {
	case n > 0:
		return errors.New("bytes after the array")
	case err != io.EOF:
		return err
	}
	return nil
}

// Save writes FILE.npy; t appears whole, or the file stays as it was.
func Save(file string, t *Tensor) error {
	if !strings.HasSuffix(file, ".npy") {
		return fmt.Errorf("expected an output file named .npy, found %q", file)
	}
	return wholefile.Write(file, func(w io.Writer) error { return WriteNPY(w, t) })
}

// Named is one array of an .npz.
type Named struct {
	Name   string
	Tensor *Tensor
}

// SaveNPZ writes FILE.npz, uncompressed as np.savez does, whole or not at all.
func SaveNPZ(file string, arrays []Named) error {
	return wholefile.Write(file, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, a := range arrays {
			e, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
			if err != nil {
				return err
			}
			if err := WriteNPY(e, a.Tensor); err != nil {
				return err
			}
		}
		return z.Close()
	})
}
