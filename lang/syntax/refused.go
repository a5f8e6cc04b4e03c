package syntax

import (
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// What Python has and the kernel language has not. Each is stepped over as a whole, so that it costs the
// user one error.

func (p *parser) refuse(at source.Span, what string) *BadExpr {
	d := p.errorf(diag.NotInLanguage, at, "%s is not in the kernel language", what)
	if instead, ok := refusals[what]; ok {
		d.Help("%s", instead)
	}
	return &BadExpr{At: at, What: what}
}

func (p *parser) lambda() Expr {
	start := p.pos
	if p.peekKind(1) == kAssign {
		p.name()
	}
	p.next()
	p.deeper(start)
	for depth := 0; depth > 0 || p.kind() != kColon; p.pos++ {
		switch k := p.kind(); {
		case k.endsStmt():
			p.failExpected("':'")
		case k == kLParen || k == kLBrack || k == kLBrace:
			depth++
		case k == kRParen || k == kRBrack || k == kRBrace:
			if depth--; depth < 0 {
				p.failExpected("':'")
			}
		}
	}
	p.next()
	p.expr()
	p.depth--
	return p.refuse(p.since(start), "lambda")
}

func (p *parser) yield() Expr {
	start := p.next()
	p.deeper(start)
	p.got(kFrom)
	if p.startsExpr() {
		p.exprList()
	}
	p.depth--
	return p.refuse(p.since(start), "yield")
}

func (p *parser) walrus(x Expr) Expr {
	p.next()
	y := p.expr()
	return p.refuse(x.Span().To(y.Span()), "':='")
}

// comprehension steps over `for x in y if z` up to and with the closing bracket.
func (p *parser) comprehension(open int, end kind, what string) Expr {
	for p.kind() == kFor || p.kind() == kAsync {
		p.got(kAsync)
		p.expect(kFor, "'for'")
		p.targets()
		p.expect(kIn, "'in'")
		p.binary(precOr)
		for p.got(kIf) {
			p.binary(precOr)
		}
	}
	p.closing(end)
	return p.refuse(p.since(open), what)
}

// refusals says what to write instead of what is refused.
var refusals = map[string]string{
	"lambda":                    "write the expression where it is needed, or a function marked @pl.jit.inline",
	"yield":                     "return values with `return`; loops carry values by assigning to names",
	"await":                     "kernels are not coroutines: a dispatch is waited for when its result is read",
	"':='":                      "assign in a statement of its own, before this one",
	"a list comprehension":      "write the elements out, or assign to an array in a `for` loop",
	"a generator expression":    "write a `for` loop",
	"a comprehension":           "write a `for` loop",
	"a set":                     "write a list, in brackets",
	"'*' before an expression":  "write the arguments one by one",
	"'**' before an expression": "write the keyword arguments one by one",
	"a parameter with '*'":      "name every parameter",
	"a parameter with '**'":     "name every parameter",
	"an argument with a name in the head of a class": "a class only groups functions here: leave it out",
	"else after a loop": "test after the loop what the loop found out",
	"try":               "nothing throws in a kernel: a failed check ends the run with a report",
	"raise":             "use pl.static_assert for what is known when compiling",
	"del":               "names end with their function; memory is planned by the compiler",
	"nonlocal":          "pass the value as a parameter and return it",
	"match":             "write `if` and `elif`",
	"type":              "assign the type to a name: T = pl.Tensor[[4], pl.FP32]",
	"async def":         "write a plain function: ranks already run side by side",
	"async for":         "write a plain `for`",
	"async with":        "write a plain `with`",
}

// classKeyword steps over metaclass=M in the head of a class.
func (p *parser) classKeyword() Expr {
	start := p.next()
	p.next()
	p.expr()
	return p.refuse(p.since(start), "an argument with a name in the head of a class")
}
