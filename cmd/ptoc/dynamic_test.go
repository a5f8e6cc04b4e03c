package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// verifying runs a command of those that verify.
func verifying(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Cleanup(func() { jsonErrors = false })
	var out, errs strings.Builder
	root := newRoot(newVerify(), newRun(), newMutate())
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	code = report(&errs, root.ExecuteContext(t.Context()))
	return out.String(), errs.String(), code
}

const bugs = "../../tests/bugs/"

func TestTheReplayLineOfAReportRepeatsTheFault(t *testing.T) {
	out, _, code := verifying(t, "verify", bugs+"02-no-read-complete.pl", "--ranks", "2", "--layers", "memory")
	line := regexp.MustCompile(`replay: ptoc (run .*)`).FindStringSubmatch(out)
	if code != 1 || line == nil {
		t.Fatalf("code %d\n%s", code, out)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	out, errs, code := verifying(t, append(strings.Fields(line[1]), "--html", page)...)
	if code != 1 || !strings.Contains(out, "error E0612: rank 1 reads rank 0's data[0, 0:8]") || !strings.Contains(out, "<- #") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "class=arrow") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, errs, code := verifying(t, "run", bugs+"02-no-read-complete.pl", "--ranks", "2", "--replay", "0100"); code != 2 || !strings.Contains(errs, "no replay token") {
		t.Errorf("a bad token: code %d, %s", code, errs)
	}
}

func TestASanitizedRunReportsWhatAPlainRunDoesNotSee(t *testing.T) {
	for name, want := range map[string]string{"02-no-read-complete": "E0612", "13-wait-cycle": "E0606", "18-unwritten-output": "E0618"} {
		out, errs, code := verifying(t, "run", bugs+name+".pl", "--ranks", "2", "--sanitize")
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: code %d\n%s%s", name, code, out, errs)
		}
	}
	if out, errs, code := verifying(t, "run", bugs+"02-no-read-complete_fixed.pl", "--ranks", "2", "--sanitize"); code != 0 {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

func TestASignallingModelIsWrittenForSpin(t *testing.T) {
	out, _, code := verifying(t, "verify", bugs+"13-wait-cycle.pl", "--ranks", "2", "--emit", "promela")
	if code != 0 || !strings.Contains(out, "active proctype rank1()") || !strings.Contains(out, "(cell[0] >= 1)") {
		t.Errorf("code %d\n%s", code, out)
	}
	if _, errs, code := verifying(t, "verify", bugs+"02-no-read-complete.pl", "--ranks", "2", "--emit", "promela"); code != 1 || !strings.Contains(errs, "no such model is exact") {
		t.Errorf("a program that races: code %d, %s", code, errs)
	}
	if _, _, code := verifying(t, "verify", bugs+"13-wait-cycle.pl", "--emit", "tla"); code != 2 {
		t.Errorf("another language: code %d", code)
	}
}

func TestMutateCountsWhatVerifyFinds(t *testing.T) {
	out, errs, code := verifying(t, "mutate", "../../tests/bugs/recipe-broadcast_fixed.pl", "--ranks", "2")
	if !strings.Contains(out, "mutants") || !strings.Contains(out, "each layer alone finds") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	t.Log(out)
	if _, errs, code := verifying(t, "mutate", bugs+"13-wait-cycle.pl", "--ranks", "2"); code != 1 || !strings.Contains(errs, "is not proved") {
		t.Errorf("a program that is wrong itself: code %d, %s", code, errs)
	}
}
