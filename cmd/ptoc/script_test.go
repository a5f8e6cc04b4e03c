package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ptoc/codegen/toolchain"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ptoc": main})
}

// The scripts in testdata/script run the whole tool as a shell would. $EXAMPLES is the folder of the
// examples; the condition [compiler] says whether there is a C++ compiler.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("PTOC_CACHE", filepath.Join(env.WorkDir, ".cache"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			_, err := toolchain.Find()
			return cond == "compiler" && err == nil, nil
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
