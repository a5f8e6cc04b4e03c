package sim

import (
	"errors"
	"math/rand/v2"
)

// Scheduler picks who runs next. It is asked at every point where ranks can affect each other.
type Scheduler interface {
	// Pick chooses one of the ranks that can run; current is who ran last, -1 at the start.
	Pick(runnable []int, current int) int
}

// What Pick may return instead of a rank.
const (
	Again = -1 // something has changed: ask with the ranks that can run now
	Halt  = -2 // end the run, with ErrHalted
)

// ErrHalted is the error of a run that its scheduler has ended.
var ErrHalted = errors.New("the scheduler has ended the run")

// RoundRobin lets each rank run up to its next access to what others see.
type RoundRobin struct{}

func (RoundRobin) Pick(runnable []int, current int) int {
	for _, r := range runnable {
		if r > current {
			return r
		}
	}
	return runnable[0]
}

// Greedy lets a rank run for as long as it can, the fastest way; but not for ever: it may be looping
// until another rank changes what it reads.
type Greedy struct{ turns int }

// patience is how many points a rank passes before it is the others' turn.
const patience = 1000

func (g *Greedy) Pick(runnable []int, current int) int {
	for _, r := range runnable {
		if r == current && g.turns < patience {
			g.turns++
			return r
		}
	}
	g.turns = 0
	return RoundRobin{}.Pick(runnable, current)
}

// Random picks by a seed: the same seed gives the same run.
type Random struct{ rng *rand.Rand }

// NewRandom makes a seeded scheduler.
func NewRandom(seed uint64) *Random { return &Random{rand.New(rand.NewPCG(seed, 0))} }

func (r *Random) Pick(runnable []int, _ int) int { return runnable[r.rng.IntN(len(runnable))] }
