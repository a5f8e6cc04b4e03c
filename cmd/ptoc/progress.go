package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress shows on a terminal what takes longer than a second.
type progress struct {
	out  *os.File
	mu   sync.Mutex
	text string
	from time.Time
	done chan struct{}
	wg   sync.WaitGroup
}

func startProgress(out *os.File) *progress {
	p := &progress{out: out, from: time.Now(), done: make(chan struct{})}
	if term.IsTerminal(int(out.Fd())) {
		p.wg.Go(p.show)
	}
	return p
}

func (p *progress) stage(text string) {
	p.mu.Lock()
	p.text, p.from = text, time.Now()
	p.mu.Unlock()
}

// update changes the text of a stage that goes on.
func (p *progress) update(text string) {
	p.mu.Lock()
	p.text = text
	p.mu.Unlock()
}

func (p *progress) show() {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-p.done:
			if shown {
				fmt.Fprint(p.out, "\r\x1b[K")
			}
			return
		case <-tick.C:
		}
		p.mu.Lock()
		text, took := p.text, time.Since(p.from)
		p.mu.Unlock()
		if took > time.Second {
			fmt.Fprintf(p.out, "\r\x1b[K%s (%d s)", text, int(took.Seconds()))
			shown = true
		}
	}
}

// stop clears the line.
func (p *progress) stop() {
	close(p.done)
	p.wg.Wait()
}
