package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"ptoc/codegen/bundle"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

func init() { commands = append(commands, newFmt()) }

func newFmt() *cobra.Command {
	var job fmtJob
	cmd := &cobra.Command{
		Use:   "fmt [FILE|DIR|-]...",
		Short: "Format .pl files",
		Long: "Format .pl files in place: 4 spaces a level, up to 100 columns, comments and blank lines kept. A directory\n" +
			"means every .pl file below it, except in bundles. Without a file, or with -, the standard input is\n" +
			"formatted to the standard output. A file with syntax errors stays as it is.\n\n" +
			"-l and -d change nothing; with them the exit status is 1 where a file is not formatted.",
		Example: "  ptoc fmt examples\n  ptoc fmt -d kernel.pl\n  ptoc fmt -l . || echo run ptoc fmt",
		RunE: func(cmd *cobra.Command, args []string) error {
			job.out, job.stdin, job.found = cmd.OutOrStdout(), cmd.InOrStdin(), []unformattedFile{}
			return job.run(args)
		},
	}
	cmd.Flags().BoolVarP(&job.list, "list", "l", false, "list files that are not formatted")
	cmd.Flags().BoolVarP(&job.diff, "diff", "d", false, "print what would change")
	return cmd
}

type fmtJob struct {
	list, diff  bool
	out         io.Writer
	stdin       io.Reader
	errs        diag.List
	unformatted bool
	found       []unformattedFile // for --json
}

type unformattedFile struct {
	File string `json:"file"`
	Diff string `json:"diff,omitempty"`
}

func (j *fmtJob) run(args []string) error {
	if len(args) == 0 {
		args = []string{"-"}
	}
	var paths []string
	for _, a := range args {
		if a != "-" {
			if bundle.IsBundle(a) {
				return usagef("%s is a bundle: its program belongs to what was compiled, and stays as it is", a)
			}
			paths = append(paths, a)
			continue
		}
		if err := j.file("-"); err != nil {
			return err
		}
	}
	names, err := syntax.KernelFiles(paths, bundle.IsBundle)
	if err != nil {
		return diag.Unreadable(err)
	}
	for _, name := range names {
		if filepath.Ext(name) == ".py" {
			return usagef("%s is Python: ptoc fmt formats .pl files", name)
		}
		err := j.file(name)
		var d *diag.Diagnostic
		if errors.As(err, &d) { // a file that cannot be read does not keep us from the next
			j.errs.Add(d)
		} else if err != nil {
			return err
		}
	}
	if jsonErrors && (j.list || j.diff) {
		if err := json.NewEncoder(j.out).Encode(j.found); err != nil {
			return err
		}
	}
	switch {
	case j.errs.HasErrors():
		return &j.errs
	case j.unformatted && (j.list || j.diff):
		return exitCode(exitError)
	}
	return nil
}

// file formats one file, or the standard input.
func (j *fmtJob) file(name string) error {
	f, err := readSource(name, j.stdin)
	if err != nil {
		return err
	}
	text := syntax.FormatSource(f, &j.errs)
	if text != f.Text {
		j.unformatted = true
		if err := j.change(f, text, name == "-"); err != nil {
			return err
		}
	}
	if name == "-" && !j.list && !j.diff && !j.errs.HasErrors() {
		fmt.Fprint(j.out, text)
	}
	return nil
}

// change does about an unformatted file what the flags ask for.
func (j *fmtJob) change(f *source.File, text string, stdin bool) error {
	if !j.list && !j.diff {
		if stdin {
			return nil
		}
		return syntax.Rewrite(f.Name, text)
	}
	u := unformattedFile{File: f.Name}
	if j.diff {
		u.Diff = string(diff.Diff(f.Name+" (as it is)", []byte(f.Text), f.Name+" (formatted)", []byte(text)))
	}
	if jsonErrors {
		j.found = append(j.found, u)
		return nil
	}
	if j.list {
		fmt.Fprintln(j.out, u.File)
	}
	fmt.Fprint(j.out, u.Diff)
	return nil
}
