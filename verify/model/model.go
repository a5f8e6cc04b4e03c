// Package model is the signalling of a program at one number of ranks, and nothing else: for each rank, the
// notifies and waits that it does, one after the other. It is what the explorer reasons about where
// traces do not depend on the schedule, in a form that can be searched exhaustively, and given to another
// model checker.
package model

import (
	"fmt"
	"strings"
)

// Model is a list of steps for each rank. Cells are numbered.
type Model struct {
	Title string
	Cells []string
	Ranks [][]Step
}

// Step is one notify or wait.
type Step struct {
	Wait  bool
	Cell  int
	Value int32
	Set   bool // notify: instead of adding
	Eq    bool // wait: instead of at least
	Line  int
}

// Result of a search.
type Result struct {
	States   int
	Complete bool
	Stuck    [][]int // for each deadlock: how many steps each rank has done
}

// Search visits every state that any interleaving reaches, up to a limit.
func (m *Model) Search(limit int) Result {
	start := newState(len(m.Ranks), len(m.Cells))
	seen := map[string]bool{start.key(): true}
	todo := []state{start}
	res := Result{Complete: true}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		res.States++
		if res.States > limit {
			res.Complete = false
			return res
		}
		moved, done := false, true
		for r, steps := range m.Ranks {
			if s.at[r] == len(steps) {
				continue
			}
			done = false
			st := steps[s.at[r]]
			if st.Wait && !st.holds(s.cells[st.Cell]) {
				continue
			}
			moved = true
			n := s.after(r, st)
			if k := n.key(); !seen[k] {
				seen[k] = true
				todo = append(todo, n)
			}
		}
		if !moved && !done {
			res.Stuck = append(res.Stuck, s.at)
		}
	}
	return res
}

// Run does one schedule, each rank as far as it gets; false if it ends in a deadlock.
func (m *Model) Run() (steps int, ok bool) {
	s := newState(len(m.Ranks), len(m.Cells))
	for moved := true; moved; {
		moved = false
		for r, list := range m.Ranks {
			for s.at[r] < len(list) && (!list[s.at[r]].Wait || list[s.at[r]].holds(s.cells[list[s.at[r]].Cell])) {
				s = s.after(r, list[s.at[r]])
				steps++
				moved = true
			}
		}
	}
	for r, list := range m.Ranks {
		if s.at[r] < len(list) {
			return steps, false
		}
	}
	return steps, true
}

func (s Step) holds(v int32) bool {
	if s.Eq {
		return v == s.Value
	}
	return v >= s.Value
}

// state is how far each rank has come, and the cells.
type state struct {
	at    []int
	cells []int32
}

func newState(ranks, cells int) state { return state{make([]int, ranks), make([]int32, cells)} }

func (s state) after(r int, st Step) state {
	n := state{append([]int(nil), s.at...), s.cells}
	n.at[r]++
	if st.Wait {
		return n
	}
	n.cells = append([]int32(nil), s.cells...)
	if st.Set {
		n.cells[st.Cell] = st.Value
	} else {
		n.cells[st.Cell] += st.Value
	}
	return n
}

func (s state) key() string {
	b := make([]byte, 0, 2*len(s.at)+4*len(s.cells))
	for _, a := range s.at {
		b = append(b, byte(a), byte(a>>8))
	}
	for _, c := range s.cells {
		b = append(b, byte(c), byte(c>>8), byte(c>>16), byte(c>>24))
	}
	return string(b)
}

// Promela writes the model for spin: a process for each rank, whose every step is one statement. That all
// ranks end is what spin checks: a rank that cannot is an invalid end state.
func (m *Model) Promela() string {
	var b strings.Builder
	fmt.Fprintf(&b, "/* %s\n * Cells:\n", m.Title)
	for i, c := range m.Cells {
		fmt.Fprintf(&b, " *   %d  %s\n", i, c)
	}
	fmt.Fprintf(&b, " */\n\nint cell[%d];\n", max(len(m.Cells), 1))
	for r, steps := range m.Ranks {
		fmt.Fprintf(&b, "\nactive proctype rank%d() {\n", r)
		for _, s := range steps {
			fmt.Fprintf(&b, "\t%-32s /* line %d */\n", s.promela()+";", s.Line)
		}
		b.WriteString("\tskip\n}\n")
	}
	return b.String()
}

func (s Step) promela() string {
	switch {
	case s.Wait && s.Eq:
		return fmt.Sprintf("(cell[%d] == %d)", s.Cell, s.Value)
	case s.Wait:
		return fmt.Sprintf("(cell[%d] >= %d)", s.Cell, s.Value)
	case s.Set:
		return fmt.Sprintf("cell[%d] = %d", s.Cell, s.Value)
	}
	return fmt.Sprintf("cell[%d] = cell[%d] + (%d)", s.Cell, s.Cell, s.Value)
}
