package check

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// seeds are all the programs of the tests and examples.
func seeds(t testing.TB) []string {
	var out []string
	for _, pat := range []string{"testdata/*.p[ly]", "testdata/ir/*.txtar", "../../examples/*.pl", "../../examples/*/*.pl", "../../stdlib/*/*.pl"} {
		files, _ := filepath.Glob(pat)
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s := string(text)
			if strings.HasSuffix(name, ".txtar") {
				_, s, _ = strings.Cut(s, "-- in.")
				_, s, _ = strings.Cut(s, "\n")
				s, _, _ = strings.Cut(s, "-- out.pl --")
			}
			out = append(out, s)
		}
	}
	return out
}

// mustNotCrash checks a program and demands: no internal error, and what has no errors reads back.
func mustNotCrash(t testing.TB, name, text string) {
	m, _, list := checkText(name, text, Options{})
	for _, d := range list.Sorted() {
		if d.Code == diag.Internal {
			t.Fatalf("%v %v\n%s", d, d.Notes, text)
		}
	}
	if list.HasErrors() || len(m.Funcs) == 0 || len(text) > 1<<16 {
		return
	}
	for _, err := range ir.Verify(m) {
		t.Fatalf("verify: %v\n%s", err, text)
	}
	printed := ir.Print(m)
	m2, _, list2 := checkText("printed.pl", printed, Options{})
	if list2.HasErrors() {
		t.Fatalf("%v\n%s\n---- from:\n%s", list2, printed, text)
	}
	if err := ir.Equal(m, m2); err != nil {
		t.Fatalf("%v\n%s\n---- from:\n%s", err, printed, text)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, lenient bool) {
		name := "fuzz.pl"
		if lenient {
			name = "fuzz.py"
		}
		mustNotCrash(t, name, text)
	})
}

var tokens = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9.]*|[0-9.]+|[-+*/%<>=!]+|[()\[\]:,]`)

// Words of programs put into other places of programs make programs that parse and are wrong in ways
// that nobody thought of.
func TestMixedUpProgramsNeverCrashTheChecker(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 300
	}
	all := seeds(t)
	var words []string
	for _, s := range all {
		words = append(words, tokens.FindAllString(s, -1)...)
	}
	for seed := uint64(0); seed < uint64(n); seed++ {
		rng := rand.New(rand.NewPCG(seed, 7))
		text := mixUp(rng, all[rng.IntN(len(all))], words)
		name := []string{"mixed.pl", "mixed.py"}[rng.IntN(2)]
		t.Logf("seed %d", seed)
		mustNotCrash(t, name, text)
		if t.Failed() {
			return
		}
	}
}

func mixUp(rng *rand.Rand, text string, words []string) string {
	for n := 1 + rng.IntN(3); n > 0; n-- {
		switch rng.IntN(4) {
		case 0, 1: // replace a token
			at := tokens.FindAllStringIndex(text, -1)
			if len(at) == 0 {
				return text
			}
			p := at[rng.IntN(len(at))]
			own := tokens.FindAllString(text, -1)
			w := own[rng.IntN(len(own))]
			if rng.IntN(3) == 0 {
				w = words[rng.IntN(len(words))]
			}
			text = text[:p[0]] + w + text[p[1]:]
		case 2: // drop a line
			lines := strings.Split(text, "\n")
			i := rng.IntN(len(lines))
			text = strings.Join(append(lines[:i:i], lines[i+1:]...), "\n")
		case 3: // move a line
			lines := strings.Split(text, "\n")
			i, j := rng.IntN(len(lines)), rng.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
			text = strings.Join(lines, "\n")
		}
	}
	return text
}
