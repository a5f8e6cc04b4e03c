package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := Text(name, "old"); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := Write(name, func(w io.Writer) error { io.WriteString(w, "ne"); return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(name); string(text) != "old" {
		t.Errorf("got %q", text)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left %v", files)
	}
}

func TestADeviceOrPipeIsWrittenNotReplaced(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	got := make(chan string)
	go func() {
		text, _ := os.ReadFile(name)
		got <- string(text)
	}()
	if err := Text(name, "through"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "through" {
		t.Errorf("got %q", text)
	}
	if info, err := os.Stat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe became %v, %v", info, err)
	}
}

func TestErrorsNameTheFileThatWasAskedFor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "missing", "f.npy")
	if err := Text(name, ""); err == nil || !strings.HasPrefix(err.Error(), "write "+name+": no such file") {
		t.Errorf("got %v", err)
	}
}
