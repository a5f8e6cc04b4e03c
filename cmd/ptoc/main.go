// Command ptoc compiles and runs kernel programs. Each subcommand is one file, which adds itself to
// commands; it reads flags, calls one library function and prints the result.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ptoc/lang/diag"
	"ptoc/runtime/cuda"
	"ptoc/runtime/cuda/fleet"
	"ptoc/runtime/native"
)

// version is set by the linker.
var version = "devel"

// commands is what the files of this package add in init.
var commands []*cobra.Command

// Exit codes. Commands may define more by returning an exitError.
const (
	exitOK    = 0
	exitError = 1 // the program is wrong, or did not do what it should
	exitUsage = 2 // the command line is wrong
)

// exitCode is an error that only ends the process: everything has been said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a mistake on the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// interruptGrace is how long an interrupted command may take to clean up.
const interruptGrace = 3 * time.Second

// jsonErrors is the persistent flag --json: diagnostics and results as JSON.
var jsonErrors bool

func main() { os.Exit(Main()) }

// Main is main for tests: it returns the exit code.
func Main() int {
	debug.SetGCPercent(400) // a short life in little memory
	native.MaybeWorker()    // a rank of another process's engine: never returns
	fleet.MaybeWorker(cuda.System)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; a second one finds the default handler and ends the process. So does the time:
	// what does not look at ctx must not keep the process.
	finished := context.AfterFunc(ctx, func() {
		stop()
		time.Sleep(interruptGrace)
		os.Exit(report(os.Stderr, context.Canceled))
	})
	defer finished()
	root := newRoot(commands...)
	root.SetArgs(os.Args[1:])
	out := &output{file: os.Stdout}
	root.SetOut(out)
	err := root.ExecuteContext(ctx)
	jsonErrors = jsonErrors || slices.Contains(os.Args[1:], "--json") // a mistake in front of it ended the reading
	if err == nil && out.err != nil {
		err = fmt.Errorf("the output is not complete: %w", out.err)
	}
	return report(os.Stderr, err)
}

// output is the standard output. It remembers that something could not be written: commands print and look no
// further.
type output struct {
	file *os.File
	err  error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd lets writers ask whether this is a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

// environment are the variables that a user may set; a test holds them against those that are read.
const environment = `Environment:
  PTOC_CXX      the C++ compiler (default: g++, then clang++)
  PTOC_CACHE    the folder of compiled kernels (default: ptoc in the user's
                cache folder); what nobody used for a month leaves it
  PTOC_LLVM     a libLLVM or an llc, for --target cuda (default: the newest
                of versions 14 to 19)
  PTOC_LIBCUDA  NVIDIA's driver library (default: libcuda.so.1)
  PTOC_DEBUG    if set, faults of ptoc itself come with a Go stack trace`

func newRoot(cmds ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "ptoc",
		Short:         "Compile, check and run kernel programs on many ranks",
		Long:          "Compile, check and run kernel programs on many ranks.\n\n" + environment,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{plainFlagError(err)} })
	root.PersistentFlags().BoolVar(&jsonErrors, "json", false, "print results and errors as JSON")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(cmds...)
	root.SuggestionsMinimumDistance = 2
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return usagef("there is no command %s; did you mean %s?", args[0], strings.Join(near, " or "))
		}
		return usagef("there is no command %s", args[0])
	}
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	mistakes(root)
	completions(root)
	return root
}

// mistakes makes wrong numbers of arguments, which cobra counts, mistakes on the command line.
func mistakes(c *cobra.Command) {
	if count := c.Args; count != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := count(c, args)
			if err != nil && !errors.As(err, new(usageError)) {
				err = usagef("%w: %s", err, c.UseLine())
			}
			return err
		}
	}
	for _, sub := range c.Commands() {
		mistakes(sub)
	}
}

// plainFlagError leaves Go's name for what reads a number out of the message.
func plainFlagError(err error) error {
	if value := new(pflag.InvalidValueError); errors.As(err, &value) {
		if num := new(strconv.NumError); errors.As(value.Unwrap(), &num) {
			return fmt.Errorf("--%s wants a number, got %q: %w", value.GetFlag().Name, value.GetValue(), num.Err)
		}
	}
	return err
}

// report prints err and gives the exit code.
func report(w io.Writer, err error) int {
	var list *diag.List
	var one *diag.Diagnostic
	var code exitCode
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = &diag.List{}
		list.Add(one)
	case errors.Is(err, context.Canceled):
		say(w, "interrupted")
		return 128 + int(syscall.SIGINT)
	case errors.As(err, &usage):
		say(w, err.Error(), "Try 'ptoc help'.")
		return exitUsage
	default:
		say(w, err.Error())
		return exitError
	}
	if jsonErrors {
		diag.RenderJSON(w, list)
	} else {
		diag.Print(w, list)
	}
	if onCommandLine(list) {
		return exitUsage
	}
	return exitError
}

// say prints an error that has no code.
func say(w io.Writer, message string, helps ...string) {
	if jsonErrors {
		list := &diag.List{}
		list.Add(&diag.Diagnostic{Severity: diag.Error, Message: message, Helps: helps})
		diag.RenderJSON(w, list)
		return
	}
	fmt.Fprintln(w, strings.Join(append([]string{"ptoc: " + message}, helps...), "\n"))
}

// onCommandLine reports whether nothing but the command line is wrong.
func onCommandLine(list *diag.List) bool {
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error && d.Code != diag.BadOption {
			return false
		}
	}
	return list.HasErrors()
}
