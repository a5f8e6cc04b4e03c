package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// runAlone runs a command that remembers no other run, and returns what it prints and its exit code.
func runAlone(cmd *cobra.Command, stdin string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cmd)
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	code = report(&errs, root.Execute())
	return out.String(), errs.String(), code
}

func TestFmtRewritesWhatIsNotFormatted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := write("sub/bad.pl", "x=1  # c\n")
	good := write("good.pl", "x = 1\n")
	other := write("host.py", "x=1\n")
	write(".git/x.pl", "x=1\n")

	if out, errs, code := runAlone(newFmt(), "", "fmt", "-l", dir); out != bad+"\n" || errs != "" || code != 1 {
		t.Errorf("-l: %q %q %d", out, errs, code)
	}
	out, _, code := runAlone(newFmt(), "", "fmt", "-d", dir)
	if code != 1 || !strings.Contains(out, "-x=1  # c\n+x = 1  # c\n") {
		t.Errorf("-d: %q %d", out, code)
	}
	if out, errs, code := runAlone(newFmt(), "", "fmt", dir); out+errs != "" || code != 0 {
		t.Errorf("%q %q %d", out, errs, code)
	}
	for path, want := range map[string]string{bad: "x = 1  # c\n", good: "x = 1\n", other: "x=1\n"} {
		if text, _ := os.ReadFile(path); string(text) != want {
			t.Errorf("%s: %q", path, text)
		}
	}
	if info, _ := os.Stat(bad); info.Mode().Perm() != 0o640 {
		t.Errorf("permissions are now %v", info.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "sub", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, _, code := runAlone(newFmt(), "", "fmt", "-l", dir); code != 0 {
		t.Errorf("not formatted after formatting")
	}
}

func TestFmtReadsTheStandardInput(t *testing.T) {
	for _, args := range [][]string{{"fmt"}, {"fmt", "-"}} {
		if out, errs, code := runAlone(newFmt(), "x=1", args...); out != "x = 1\n" || errs != "" || code != 0 {
			t.Errorf("%v: %q %q %d", args, out, errs, code)
		}
	}
	if out, _, code := runAlone(newFmt(), "x=1", "fmt", "-l", "-"); out != "<stdin>\n" || code != 1 {
		t.Errorf("-l: %q %d", out, code)
	}
}

func TestFmtLeavesAFileWithErrorsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pl")
	os.WriteFile(path, []byte("x=(1\ny=2\n"), 0o644)
	_, errs, code := runAlone(newFmt(), "", "fmt", path)
	if code != 1 || !strings.Contains(errs, "E0101") && !strings.Contains(errs, "E0106") {
		t.Errorf("%q %d", errs, code)
	}
	if text, _ := os.ReadFile(path); string(text) != "x=(1\ny=2\n" {
		t.Errorf("the file is now %q", text)
	}
	if out, _, code := runAlone(newFmt(), "x=(", "fmt"); out != "" || code != 1 {
		t.Errorf("%q %d", out, code)
	}
	if _, errs, code := runAlone(newFmt(), "", "fmt", path+".missing"); code != 1 || !strings.Contains(errs, "no such file") {
		t.Errorf("%q %d", errs, code)
	}
}

func TestExplain(t *testing.T) {
	out, _, code := runAlone(newExplain(), "", "explain", "e0106", "110")
	if code != 0 || !strings.HasPrefix(out, "E0106 (syntax): bracket never closed\n") || !strings.Contains(out, "E0110") {
		t.Errorf("%s %d", out, code)
	}
	if _, errs, code := runAlone(newExplain(), "", "explain", "E9999"); code != 2 || !strings.Contains(errs, "there is no code E9999") {
		t.Errorf("%q %d", errs, code)
	}
	if out, _, _ := runAlone(newExplain(), "", "explain"); !strings.Contains(out, "  E0106  bracket never closed\n") {
		t.Errorf("%s", out)
	}
}
