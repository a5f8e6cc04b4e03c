package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ptoc/lang/diag"
)

func init() { commands = append(commands, newExplain()) }

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE...]",
		Short:   "Say what a diagnostic means, with a program that causes it",
		Long:    "Say what a diagnostic means, with a smallest program that causes it. Without a code: list all codes.",
		Example: "  ptoc explain E0106\n  ptoc explain",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listCodes(cmd.OutOrStdout())
			}
			return explain(cmd.OutOrStdout(), args)
		},
	}
}

func explain(w io.Writer, names []string) error {
	rows := make([]diag.Row, len(names))
	for i, name := range names {
		row, ok := diag.Lookup(name)
		if !ok {
			return unknownCode(name)
		}
		rows[i] = row
	}
	if jsonErrors {
		return printRows(w, rows)
	}
	for i, row := range rows {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, row.Explain())
	}
	return nil
}

func unknownCode(name string) error {
	var codes []string
	for _, r := range diag.Rows() {
		codes = append(codes, r.Code.String())
	}
	if near := diag.Nearest(name, codes); near != "" {
		return usagef("there is no code %s; did you mean %s?", name, near)
	}
	return usagef("there is no code %s; ptoc explain lists all", name)
}

func listCodes(w io.Writer) error {
	if jsonErrors {
		return printRows(w, diag.Rows())
	}
	family := ""
	for _, r := range diag.Rows() {
		if f := r.Code.Family(); f != family {
			if family != "" {
				fmt.Fprintln(w)
			}
			family = f
			fmt.Fprintln(w, family)
		}
		fmt.Fprintf(w, "  %s  %s\n", r.Code, r.Title)
	}
	return nil
}

func printRows(w io.Writer, rows []diag.Row) error {
	type jsonRow struct {
		Code    string `json:"code"`
		Family  string `json:"family"`
		Title   string `json:"title"`
		Doc     string `json:"doc"`
		Example string `json:"example,omitempty"`
	}
	out := make([]jsonRow, len(rows))
	for i, r := range rows {
		out[i] = jsonRow{r.Code.String(), r.Code.Family(), r.Title, r.Doc, r.Example}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
