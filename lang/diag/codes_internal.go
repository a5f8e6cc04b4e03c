package diag

// E09xx: faults of the compiler itself.
const (
	Internal Code = 901
)

var internalRows = []Row{
	{Internal, "internal error",
		"The compiler broke one of its own rules. The program may be right; please report it together with the reproducer that the message names.", ""},
}
