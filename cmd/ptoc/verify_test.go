package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestVerifyExitsWithItsAnswer(t *testing.T) {
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"../../examples/allreduce.pl", "../../examples/gemm.pl", "--ranks", "1,8"}},
		{0, []string{"../../tests/moe/dispatch_combine.pl", "--ranks", "4"}},
		{1, []string{"../../tests/bugs/13-wait-cycle.pl"}},
		{1, []string{"../../tests/bugs/13-wait-cycle.pl", "../../examples/allreduce.pl"}}, // the worst of the files
		{3, []string{"../../tests/bugs/13-wait-cycle_fixed.pl", "--layers", "values"}},
		{3, []string{"../../examples/allreduce.pl", "../../tests/litmus/sb.pl", "--ranks", "2", "--layers", "order"}},
		{3, []string{"../../examples/gemm.pl", "--ranks", "2", "-D", "M=512", "-D", "N=512", "-D", "K=1024", "--layers", "values"}},
	} {
		out, errs, code := verifying(t, append([]string{"verify"}, c.args...)...)
		if code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, code, c.code, out, errs)
		}
	}
}

func TestEveryExampleIsProvedAtEveryNumberOfRanks(t *testing.T) {
	names, _ := filepath.Glob("../../examples/*.pl")
	more, _ := filepath.Glob("../../examples/course/*.pl")
	if out, errs, code := verifying(t, append(append([]string{"verify", "--ranks", "1..8"}, names...), more...)...); code != 0 || len(names) == 0 {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// An input that no program has, or that cannot be read, would leave the layers with inputs that nobody asked for.
func TestVerifyRefusesWhatItCannotDo(t *testing.T) {
	for _, c := range []struct {
		code       int
		args, said string
	}{
		{1, "--in q=zeros", "no parameter q"},
		{1, "--in y=zeros", "is an output"},
		{1, "--in x=garbage", "garbage"},
		{1, "--in x=@none.npy", "none.npy"},
		{0, "--in x=ints:0..3", "proved"},
		{2, "--budget 0s", "--budget"},
		{2, "--budget -1s", "--budget"},
	} {
		args := append([]string{"verify", "../../examples/allreduce.pl", "--ranks", "2"}, strings.Fields(c.args)...)
		out, errs, code := verifying(t, args...)
		if code != c.code || !strings.Contains(out+errs, c.said) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, out, errs)
		}
	}
}
