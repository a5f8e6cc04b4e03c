// Package load makes programs for package verify from files: it parses, checks and lowers them.
package load

import (
	"context"
	"os"

	"ptoc/codegen/target"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/entry"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/verify"
)

// Options say how a file is read.
type Options struct {
	Defines map[string]string // -D NAME=VALUE: a constant, or the value of a dynamic dim
	Entry   string            // the host function, or the factory or class that defines it
	Set     map[string]string // arguments of the factory

	Context context.Context // if given, reading and lowering end with its error when it is done
}

func (o Options) interrupted() error {
	if o.Context == nil {
		return nil
	}
	return o.Context.Err()
}

// Unit is a checked file.
type Unit struct {
	File    *source.File
	Checked *ir.Module
	Syms    map[string]int64 // what -D gives dims

	o Options
}

// File reads and checks the file of that name. The error is a *diag.List or *diag.Diagnostic.
func File(name string, o Options) (*Unit, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, diag.Unreadable(err)
	}
	return Source(source.NewFile(name, string(text)), o)
}

// Source checks a file that is in memory.
func Source(f *source.File, o Options) (*Unit, error) {
	u := &Unit{File: f, o: o}
	list := &diag.List{}
	u.Checked, u.Syms = check.Read(f, check.Options{Defines: o.Defines, Entry: o.Entry, Set: o.Set, Context: o.Context}, list)
	if err := o.interrupted(); err != nil {
		return nil, err
	}
	if list.HasErrors() {
		return nil, list
	}
	return u, nil
}

// firstOfBackend is the pass from which on ops no longer stand for lines of the program.
const firstOfBackend = "FuseTileOps"

// Program lowers the unit for a number of ranks: as far as reports can still name lines, and as far as the
// code generators want it.
func (u *Unit) Program(ranks int) (*verify.Program, error) {
	host, d := entry.Find(u.Checked, u.File, u.o.Entry, false)
	if d != nil {
		return nil, d
	}
	var names []string
	for _, p := range passes.Passes() {
		if p.Name == firstOfBackend {
			break
		}
		names = append(names, p.Name)
	}
	lowered, err := u.lower(passes.Options{Passes: names, Ranks: ranks})
	if err != nil {
		return nil, err
	}
	final, err := u.lower(passes.Options{Ranks: ranks, Watch: verify.WatchSync(host.Name, verify.StepsInCompile)})
	if err != nil {
		return nil, err
	}
	p, err := verify.NewProgram(u.File.Name, u.Checked, lowered, host.Name)
	if err != nil {
		return nil, err
	}
	p.Final, p.Context = final, u.o.Context
	return p, nil
}

// lower runs passes on a copy of what was checked.
func (u *Unit) lower(o passes.Options) (*ir.Module, error) {
	m := ir.CloneModule(u.Checked)
	o.Context, o.Cache = u.o.Context, target.LastLevelCache() // what is proved is what runs
	list := passes.Run(m, o)
	if err := u.o.interrupted(); err != nil {
		return nil, err
	}
	return m, list.Err()
}
