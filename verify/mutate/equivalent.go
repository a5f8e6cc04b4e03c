package mutate

import "ptoc/ir"

// Equivalent says why a mutant behaves like its original in every schedule; "" if nothing says so. The
// layers that look at all schedules prove these mutants.
func Equivalent(program string, m Mutant) string {
	if m.Kind == "duplicate" && m.Op == ir.Wait.Name {
		return "a wait takes nothing: to wait twice for a value is to wait once"
	}
	return equivalent[program+": "+m.String()]
}

// equivalent mutants of the library, by program and mutant.
var equivalent = map[string]string{
	"allreduce-central: Ge to Eq (pld.system.wait number 1)":             "the cell holds at most 1: a rank's next credit comes after rank 0's answer",
	"allreduce-central: Ge to Eq (pld.system.wait number 8)":             "the cell holds at most 0: rank 0's next answer comes after this rank's next credit",
	"allreduce-central: swap with the next (pl.for number 2)":            "rank 0 takes its credits back before it answers instead of after: nobody else looks at its cells",
	"allreduce-central: swap with the next (pld.system.notify number 6)": "the rank takes the credit of the answer in advance, before or after it asks: nobody else looks at the cell",
	"allreduce-eager: duplicate (pld.system.notify number 1)":            "a mark that is set twice is set: it changes only two calls later",
	"allreduce-ring: Ge to Eq (pld.system.wait number 3)":                "the cell holds at most 1: the neighbour's next credit comes after the next call's first step",
	"allreduce-ring: set for add (pld.system.notify number 2)":           "the cell is 0 at this notify: its owner has taken the last credit back, by the steps in between",
	"allreduce-ring: swap with the next (pld.system.wait number 3)":      "the rank takes credits back from another cell of its own than it waits for",
	"allreduce-ring: swap with the next (pld.system.notify number 4)":    "two subtractions from cells of its own: nobody sees their order",
}
