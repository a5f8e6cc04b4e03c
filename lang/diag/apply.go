package diag

import (
	"slices"

	"ptoc/lang/source"
)

// Apply returns the text of a file with fixes made. Of fixes that overlap the first stays.
func Apply(f *source.File, fixes []Fix) string {
	fixes = slices.Clone(fixes)
	slices.SortStableFunc(fixes, func(a, b Fix) int { return int(a.At.Start) - int(b.At.Start) })
	var out []byte
	done := 0
	for _, x := range fixes {
		if x.At.File != f || int(x.At.Start) < done {
			continue
		}
		out = append(out, f.Text[done:x.At.Start]...)
		out = append(out, x.New...)
		done = int(x.At.End)
	}
	return string(append(out, f.Text[done:]...))
}
