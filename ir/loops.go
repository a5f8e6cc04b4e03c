package ir

// IterationsApart reports whether nothing orders the iterations of a counting loop with each other but what they signal:
// the blocks of pl.spmd, which a backend may run at once, and the iterations of pl.parallel, which the program says to
// be independent. What is before the loop comes before all of them, what is behind it after all. A value that an
// iteration takes from the one before it is computed before, and orders nothing else.
func IterationsApart(loop *Op) bool {
	k := loop.Enum("kind")
	return loop.Kind == For && (k.Is("spmd") || k.Is("parallel"))
}
