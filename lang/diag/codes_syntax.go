package diag

// E01xx: text that is not a program of the kernel language.
const (
	UnexpectedToken Code = 101
)

var syntaxRows = []Row{
	{UnexpectedToken, "unexpected token",
		"Something else is needed at this place: the message names what was found and what fits.",
		"x = 1 +  # ERROR \"expected an expression\"\n"},
}
