// Package wholefile writes files that appear whole or not at all.
package wholefile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file through a temporary one beside it, which is then renamed: a reader sees the old
// content or the new one. An existing file keeps its permissions; where the name is a link, the file behind
// it is written. A device or a pipe is written directly: renaming would put a file in its place. Errors name
// the file that was asked for.
func Write(name string, write func(io.Writer) error) error {
	if err := replace(name, write); err != nil {
		var pe *fs.PathError
		var le *os.LinkError
		switch {
		case errors.As(err, &pe):
			err = pe.Err
		case errors.As(err, &le):
			err = le.Err
		}
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// Text writes a text.
func Text(name, text string) error {
	return Write(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func replace(name string, write func(io.Writer) error) (err error) {
	mode := os.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return through(name, write)
		}
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".")
	if err != nil {
		return err
	}
	defer func() {
		tmp.Close()
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	if err := buffered(tmp, write); err != nil {
		return err
	}
	if err := tmp.Chmod(mode); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

func through(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(buffered(f, write), f.Close())
}

func buffered(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}
