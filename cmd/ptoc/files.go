package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ptoc/codegen/abi"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// What several commands need around files and flags.

// readSource reads a program; "-" is the standard input.
func readSource(name string, stdin io.Reader) (*source.File, error) {
	if name == "-" {
		text, err := io.ReadAll(stdin)
		return source.NewFile("<stdin>", string(text)), err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, diag.Unreadable(err)
	}
	return source.NewFile(name, string(text)), nil
}

// pairs reads the values of a repeatable NAME=VALUE flag.
func pairs(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usagef("%s wants NAME=VALUE, got %q", flag, s)
		}
		name = strings.TrimSpace(name)
		if _, twice := out[name]; twice {
			return nil, usagef("%s %s is given twice", flag, name)
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, nil
}

// rankCount is the value of a --ranks flag that may be left out: 0 then, and never when it is given.
type rankCount int

func (n *rankCount) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 { // how many are too many is for the runtime to say
		return fmt.Errorf("want a number of ranks from 1 to %d", abi.MaxRanks)
	}
	*n = rankCount(v)
	return nil
}

func (n *rankCount) Type() string { return "N" }

func (n *rankCount) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// howOften is the value of a --repeat flag: at least once.
type howOften int

func (n *howOften) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return errors.New("want a whole number of 1 or more")
	}
	*n = howOften(v)
	return nil
}

func (n *howOften) Type() string   { return "K" }
func (n *howOften) String() string { return strconv.Itoa(int(*n)) }

// repeatFlag adds --repeat; usual is its value where it is not given.
func repeatFlag(f *pflag.FlagSet, n *int, usual int, usage string) {
	*n = usual
	f.Var((*howOften)(n), "repeat", usage)
}

// splitList reads a comma-separated flag; an empty text is an empty list.
func splitList(s string) []string {
	out := []string{}
	for _, p := range strings.Split(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// printWarnings prints what a successful command still has to say.
func printWarnings(w io.Writer, l *diag.List) {
	if l.Len() == 0 {
		return
	}
	if jsonErrors {
		diag.RenderJSON(w, l)
		return
	}
	diag.Print(w, l)
}
