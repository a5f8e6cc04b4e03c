package interp

import (
	"ptoc/codegen/abi"
	"ptoc/ir"
)

// region is a compiled block with the values that its terminator hands on.
type region struct {
	steps  []Step
	yields []func(*Frame) Value
	into   []int // where the values go
}

func (c *Compiler) region(b *ir.Block, into []*ir.Value) region {
	r := region{steps: c.Block(b)}
	if t := b.Terminator(); t != nil {
		r.handOn(c, t.Vals("values"), into)
	}
	return r
}

func (r *region) handOn(c *Compiler, vals, into []*ir.Value) {
	for i, v := range vals {
		if i < len(into) {
			r.yields = append(r.yields, c.Get(v))
			r.into = append(r.into, into[i].ID)
		}
	}
}

// run runs the steps and then hands the values on, all at once: they may be permuted.
func (r *region) run(fr *Frame) {
	run(r.steps, fr)
	r.move(fr)
}

func (r *region) move(fr *Frame) {
	switch len(r.yields) {
	case 0:
	case 1:
		fr.Vals[r.into[0]] = r.yields[0](fr)
	default:
		tmp := make([]Value, len(r.yields))
		for i, y := range r.yields {
			tmp[i] = y(fr)
		}
		for i, id := range r.into {
			fr.Vals[id] = tmp[i]
		}
	}
}

// moves copies values between slots, all at once.
func (c *Compiler) moves(from, to []*ir.Value) *region {
	r := &region{}
	r.handOn(c, from, to)
	return r
}

func (c *Compiler) loop(op *ir.Op) Step {
	start, stop, step := c.Int(op.Val("start")), c.Int(op.Val("stop")), c.Int(op.Val("step"))
	block := op.Regions[0]
	counter := block.Args[0].ID
	enter := c.moves(op.Vals("init_values"), block.Args[1:])
	body := c.region(block, block.Args[1:])
	leave := c.moves(block.Args[1:], op.Results)
	spmd, apart := op.Enum("kind").Is("spmd"), ir.IterationsApart(op)
	return func(fr *Frame) {
		lo, hi, by := start(fr), stop(fr), step(fr)
		if by == 0 {
			Raise(op, abi.BadValue, 0, 1, 1)
		}
		enter.move(fr)
		block, blocks := fr.Block, fr.Blocks
		n := Trips(lo, hi, by)
		if spmd {
			fr.Blocks = int64(n)
			fr.Block = -1
		}
		fork, total := fr.Fork, int64(n)
		if !apart || n < 2 {
			fork = nil
		}
		for i := lo; n > 0; n, i = n-1, i+by {
			if fork != nil {
				fork(op, total-int64(n), total)
			}
			if fr.Tick != nil {
				fr.Tick(op)
			}
			if spmd {
				fr.Block++
			}
			fr.Vals[counter].I = i
			body.run(fr)
		}
		if fork != nil {
			fork(op, total, total)
		}
		fr.Block, fr.Blocks = block, blocks
		leave.move(fr)
	}
}

// Trips is how often a loop runs; never with step 0. The counter may pass the end of the integers behind the last of them.
func Trips(start, stop, step int64) uint64 {
	switch {
	case step > 0 && start < stop:
		return (uint64(stop)-uint64(start)-1)/uint64(step) + 1
	case step < 0 && start > stop:
		return (uint64(start)-uint64(stop)-1)/-uint64(step) + 1
	}
	return 0
}

func (c *Compiler) while(op *ir.Op) Step {
	block := op.Regions[0]
	enter := c.moves(op.Vals("init_values"), block.Args)
	var before, after []Step
	var cond func(*Frame) int64
	for _, inner := range block.Ops {
		switch s := c.whileOp(inner); {
		case inner.Kind == ir.Cond:
			cond = c.Int(inner.Val("cond"))
		case s == nil:
		case cond == nil:
			before = append(before, s)
		default:
			after = append(after, s)
		}
	}
	next := &region{steps: after}
	if t := block.Terminator(); t != nil {
		next.handOn(c, t.Vals("values"), block.Args)
	}
	leave := c.moves(block.Args, op.Results)
	return func(fr *Frame) {
		enter.move(fr)
		for {
			if fr.Tick != nil {
				fr.Tick(op)
			}
			run(before, fr)
			if cond != nil && cond(fr) == 0 {
				break
			}
			next.run(fr)
		}
		leave.move(fr)
	}
}

// whileOp leaves the Cond to the loop.
func (c *Compiler) whileOp(op *ir.Op) Step {
	if op.Kind == ir.Cond {
		return nil
	}
	return c.Op(op)
}

func (c *Compiler) branch(op *ir.Op) Step {
	cond := c.Int(op.Val("cond"))
	then := c.region(op.Regions[0], op.Results)
	els := region{}
	if len(op.Regions) > 1 {
		els = c.region(op.Regions[1], op.Results)
	}
	return func(fr *Frame) {
		if cond(fr) != 0 {
			then.run(fr)
		} else {
			els.run(fr)
		}
	}
}
