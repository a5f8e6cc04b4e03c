package cuda

import "fmt"

// pending is how many steps of a stream are with the driver at most. It has room for about a thousand launches and events
// of a stream; a launch for which there is none blocks, and a host that is blocked sees neither a kernel that hangs nor an
// interrupt, and does not launch what others may be waiting for.
const pending = 128

// launching is the steps of a GPU on their way there.
type launching struct {
	g      *group
	cfg    *Config
	steps  []step
	params []Ptr
	lanes  []lane // the first is the main stream's, in front of all others
	forked bool   // they have been told to begin behind it
	whole  bool   // all steps were launched, and the group's end was recorded
}

// lane is the steps of one stream.
type lane struct {
	own    int // the rank of which the stream is; -1: the main stream
	stream Stream
	steps  []int
	next   int // to be launched
	ended  int // were seen to end
}

func newLaunching(g *group, cfg *Config, steps []step, params []Ptr) *launching {
	l := &launching{g: g, cfg: cfg, steps: steps, params: params, lanes: []lane{{own: -1, stream: g.main}}}
	lanes := map[int]int{}
	for i := range steps {
		at := 0
		if steps[i].own {
			r := steps[i].ranks[0]
			if lanes[r] == 0 {
				lanes[r] = len(l.lanes)
				l.lanes = append(l.lanes, lane{own: r})
			}
			at = lanes[r]
		}
		l.lanes[at].steps = append(l.lanes[at].steps, i)
	}
	return l
}

// more launches as many steps as there is room for: one of each stream in turn, because they may wait for each other.
// Their ends are recorded when all of a turn are launched: where there are more streams than hardware queues, two share
// one, and what waits for the kernel of the one keeps everything behind it from starting.
func (l *launching) more() error {
	for again := !l.whole; again; {
		var launched []*lane
		for i := range l.lanes {
			if i == 1 { // behind all of the main stream
				if l.lanes[0].next < len(l.lanes[0].steps) {
					break
				}
				if err := l.fork(); err != nil {
					return err
				}
			}
			a := &l.lanes[i]
			if room, err := l.room(a); err != nil {
				return err
			} else if room {
				if err := l.step(a); err != nil {
					return err
				}
				launched = append(launched, a)
			}
		}
		for _, a := range launched {
			i := a.steps[a.next]
			if err := l.g.mark(i, &l.steps[i], a.stream); err != nil {
				return err
			}
			a.next++
		}
		again = len(launched) > 0
	}
	return l.end()
}

// room reports whether a lane has a step that can be launched now.
func (l *launching) room(a *lane) (bool, error) {
	if a.next == len(a.steps) {
		return false, nil
	}
	if a.next-a.ended < pending {
		return true, nil
	}
	err := l.look(a)
	return a.next-a.ended < pending, err
}

// step launches the next step of a lane.
func (l *launching) step(a *lane) error {
	i := a.steps[a.next]
	s, g := &l.steps[i], l.g
	k := &l.cfg.Kernels[s.kernel]
	err := g.dev.Launch(a.stream, Launch{Function: g.functions[s.kernel], GridX: s.blocks, GridY: len(s.ranks), Threads: k.Threads,
		Shared: k.Shared, Param: l.params[i], Cooperative: !s.own})
	if err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

// look notes which steps of a lane have ended.
func (l *launching) look(a *lane) error {
	for ; a.ended < a.next; a.ended++ {
		s := &l.steps[a.steps[a.ended]]
		done, err := l.g.dev.Done(s.event)
		if err != nil || !done {
			return err
		}
		s.done = true
	}
	return nil
}

// count is how many steps have ended.
func (l *launching) count() (n int64, err error) {
	for i := range l.lanes {
		if err := l.look(&l.lanes[i]); err != nil {
			return 0, err
		}
		n += int64(l.lanes[i].ended)
	}
	return n, nil
}

// fork lets the streams of ranks begin where the main stream is.
func (l *launching) fork() error {
	g := l.g
	if l.forked {
		return nil
	}
	l.forked = true
	if err := g.dev.Record(g.ready, g.main); err != nil {
		return err
	}
	for i := range l.lanes[1:] {
		a := &l.lanes[1+i]
		for len(g.own) <= a.own {
			s, err := g.dev.NewStream()
			if err != nil {
				return err
			}
			g.own = append(g.own, s)
		}
		a.stream = g.own[a.own]
		if err := g.dev.WaitEvent(a.stream, g.ready); err != nil {
			return err
		}
	}
	return nil
}

// end records the end of all steps, when all are launched.
func (l *launching) end() error {
	if l.whole {
		return nil
	}
	for i := range l.lanes {
		if l.lanes[i].next < len(l.lanes[i].steps) {
			return nil
		}
	}
	l.whole = true
	for _, a := range l.lanes[1:] {
		if err := l.g.dev.WaitEvent(l.g.main, l.steps[a.steps[len(a.steps)-1]].event); err != nil {
			return err
		}
	}
	return l.g.dev.Record(l.g.end, l.g.main)
}

// mark records the end of the i-th step.
func (g *group) mark(i int, s *step, on Stream) error {
	for len(g.events) <= i {
		ev, err := g.dev.NewEvent()
		if err != nil {
			return err
		}
		g.events = append(g.events, ev)
	}
	s.event = g.events[i]
	return g.dev.Record(s.event, on)
}
