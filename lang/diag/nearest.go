package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the candidate that a misspelt name most likely meant, or "" where none is near. Of
// equally near ones it takes the first in the alphabet, so that the answer does not depend on map order.
func Nearest(name string, candidates []string) string {
	best, bestDist := "", min(len(name)/3, 3)+1 // one edit per three letters: in short names none, but for case
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if c == name || c == "" {
			continue
		}
		if d := distance(name, c, bestDist); d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b; a
// letter in the wrong case counts as none. It gives up at limit.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) >= limit {
		return limit
	}
	var before []int // the row before the previous one, for swaps
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			x, y := lower(a[i-1]), lower(b[j-1])
			cost := 1
			if x == y {
				cost = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && x == lower(b[j-2]) && lower(a[i-2]) == y {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}

func abs(n int) int { return max(n, -n) }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Listed names what there is, in a text that can be read however much that is.
func Listed(names []string) string {
	const most = 12
	last := ""
	switch n := len(names); {
	case n == 0:
		return "none"
	case n == 1:
		return names[0]
	case n > most:
		names, last = names[:most-1], fmt.Sprintf("%d more", n-most+1)
	default:
		names, last = names[:n-1], names[n-1]
	}
	return strings.Join(names, ", ") + " and " + last
}
