package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// `ptoc --help` names the variables that the product reads, and no others.
func TestTheHelpNamesTheEnvironment(t *testing.T) {
	read, root := map[string]bool{}, filepath.Join("..", "..")
	call := regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("(PTOC_\w+)"\)`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path == filepath.Join(root, "tests")):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			read[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, name := range regexp.MustCompile(`(?m)^  (PTOC_\w+)`).FindAllStringSubmatch(environment, -1) {
		told[name[1]] = true
	}
	if !maps.Equal(read, told) {
		t.Errorf("read: %q\ntold: %q", slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(told)))
	}
}
