package abi

// Arg is one argument of a command, as the controller gives it to a backend.
type Arg struct {
	Tag   Tag
	Value int64
}
