package diag

// E09xx: a compilation that did not come to its end for no fault of the program.
const (
	Internal    Code = 901
	Interrupted Code = 902
)

var internalRows = []Row{
	{Internal, "internal error",
		"The compiler broke one of its own rules. The program may be right; please report it together with the reproducer that the message names.", ""},
	{Interrupted, "interrupted",
		"The compilation was stopped from outside, by Ctrl-C or a signal, before it had come to its end.", ""},
}
