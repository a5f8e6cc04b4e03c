package load

import (
	"testing"

	"ptoc/lang/source"
	"ptoc/verify"
)

// BenchmarkStatic measures the static layers and the value proof on three calls of a collective.
func BenchmarkStatic(b *testing.B) {
	for _, c := range collectives {
		u, err := Source(source.NewFile(c.name+".pl", c.program()), Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name+"-16", func(b *testing.B) {
			for range b.N {
				p, err := u.Program(16)
				if err != nil {
					b.Fatal(err)
				}
				verify.Check(p, static, []verify.Scope{p.Scope(16, 1, nil)})
			}
		})
	}
}
