package passes

import "testing"

// Stores go past the caches where messages do not stay there: that depends on the machine.
func TestStreamingFollowsTheCaches(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		bytes, cache int64
		stream       bool
	}{{2 * mb, 32 * mb, false}, {4*mb - 4, 32 * mb, false}, {4 * mb, 32 * mb, true}, {4 * mb, 300 * mb, false}, {38 * mb, 300 * mb, true}} {
		a := message{mode: "auto", elems: c.bytes / 4, size: 4, known: true, large: c.cache / largePart}.choose()
		if a.name != "allreduce_push" || a.consts["stream"] != c.stream {
			t.Errorf("%d bytes, %d of cache: %s %v", c.bytes, c.cache, a.name, a.consts)
		}
	}
}
