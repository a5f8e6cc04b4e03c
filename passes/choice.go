package passes

import "ptoc/lang/source"

// A Choice is one decision that a pass took for the user and that the user may want to see.
type Choice struct {
	At     source.Span // the collective
	Op     string      // "allreduce"
	Mode   string      // what the program asked for: "auto"
	Chosen string      // "push"
	Why    string      // "2 MiB"
	Bytes  int64       // of the message; 0 where the length is known only at run time
}
