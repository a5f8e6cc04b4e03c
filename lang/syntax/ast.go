// Package syntax turns the text of a program into a syntax tree, and a syntax tree into text.
//
// The scanner (scan.go) is written by hand: it knows indentation, joined lines and comments. Statements
// and declarations are participle grammar structs, and those structs are the syntax tree: the grammar of a
// statement is the `parser:` tags of its node, in this file. Expressions are parsed by precedence
// (expr.go). One statement is parsed at a time, so that an error hides only what it stands in.
package syntax

import "ptoc/lang/source"

// A Node is a piece of the tree and knows where it stands.
type Node interface{ Span() source.Span }

// Expr is one of *Name, *Int, *Float, *Str, *Bool, *None, *Ellipsis, *Attr, *Call, *Index, *Slice, *Tuple,
// *List, *Dict, *Unary, *Binary, *Compare, *Cond, *Paren, *BadExpr.
type Expr interface {
	Node
	expr()
}

// Stmt is one of *ExprStmt, *Assign, *AnnAssign, *AugAssign, *Return, *Pass, *Break, *Continue, *Import,
// *FromImport, *Global, *Assert, *If, *While, *For, *With, *FuncDef, *ClassDef, *BadStmt.
type Stmt interface {
	Node
	stmt()
}

// A File is everything that was read from one source file.
type File struct {
	Source   *source.File
	Stmts    []Stmt
	Comments []Comment // in the order of the text
}

// A Comment reaches from # to the end of its line, which is not in Text.
type Comment struct {
	At   source.Span
	Text string
	Own  bool // nothing but space before it on its line
}

// A Block is the body of a compound statement. Stmts is never empty after a parse without errors.
type Block struct {
	At    source.Span
	Stmts []Stmt
}

// Doc returns the docstring that the block starts with, or nil.
func (b *Block) Doc() *Str {
	if len(b.Stmts) > 0 {
		if x, ok := b.Stmts[0].(*ExprStmt); ok {
			if s, ok := x.X.(*Str); ok {
				return s
			}
		}
	}
	return nil
}

// Expressions.
type (
	// Name is an identifier. It is an expression by itself, and part of other nodes by value.
	Name struct {
		At   source.Span
		Text string
	}

	// Int is an integer literal. Lit is as written: 0xFF, 1_000.
	Int struct {
		At    source.Span
		Lit   string
		Value int64
	}

	// Float is a literal with a point or an exponent.
	Float struct {
		At    source.Span
		Lit   string
		Value float64
	}

	// Str is one or several adjacent string literals. Format marks f-strings, Bytes b-strings: neither is
	// part of the kernel language, and Value is then the text between the quotes, unevaluated.
	Str struct {
		At     source.Span
		Pieces []string // each literal as written
		Value  string
		Format bool
		Bytes  bool
	}

	// Bool is True or False.
	Bool struct {
		At    source.Span
		Value bool
	}

	// None is the literal None.
	None struct{ At source.Span }

	// Ellipsis is the literal `...`.
	Ellipsis struct{ At source.Span }

	// Attr is X.Sel.
	Attr struct {
		At  source.Span
		X   Expr
		Sel Name
	}

	// Call is Fn(Args..., Keywords...). Keywords come last.
	Call struct {
		At       source.Span
		Fn       Expr
		Args     []Expr
		Keywords []*Keyword
	}

	// Keyword is Name=Value in a call or in the head of a class.
	Keyword struct {
		At    source.Span
		Name  Name
		Value Expr
	}

	// Index is X[Items...]. An item may be a *Slice. Comma tells X[i,], a tuple of one, from X[i].
	Index struct {
		At    source.Span
		X     Expr
		Items []Expr
		Comma bool
	}

	// Slice is Lo:Hi:Step inside an Index; what is left out is nil.
	Slice struct {
		At           source.Span
		Lo, Hi, Step Expr
	}

	// Tuple is a, b or (a, b) or (): Parens says which.
	Tuple struct {
		At     source.Span
		Elts   []Expr
		Parens bool
	}

	// List is [a, b].
	List struct {
		At   source.Span
		Elts []Expr
	}

	// Dict is {k: v}; Keys and Values have the same length.
	Dict struct {
		At     source.Span
		Keys   []Expr
		Values []Expr
	}

	// Unary is -x, +x, ~x or not x.
	Unary struct {
		At source.Span
		Op Op
		X  Expr
	}

	// Binary is arithmetic, bits, `and` or `or`.
	Binary struct {
		At   source.Span
		Op   Op
		OpAt source.Span
		X, Y Expr
	}

	// Compare is a chain X Ops[0] Rest[0] Ops[1] Rest[1] ...; most chains have one link.
	Compare struct {
		At   source.Span
		X    Expr
		Ops  []Op
		Rest []Expr
	}

	// Cond is Then if If else Else.
	Cond struct {
		At             source.Span
		Then, If, Else Expr
	}

	// Paren is a parenthesised expression that is not a tuple. See Unparen.
	Paren struct {
		At source.Span
		X  Expr
	}

	// BadExpr stands where something was that is not in the kernel language (What: "lambda",
	// "list comprehension"). Either it was reported, or it stands in host code that is only skimmed.
	BadExpr struct {
		At   source.Span
		What string
	}
)

// Simple statements. The parser makes the first four itself: they begin with an expression, and only the
// token after it tells them apart.
type (
	// ExprStmt is an expression by itself: a call, a docstring, `...`.
	ExprStmt struct {
		At source.Span
		X  Expr
	}

	// Assign is Targets[0] = Targets[1] = ... = Value. A target is a *Name, *Attr, *Index, or a *Tuple,
	// *List or *Paren of these.
	Assign struct {
		At      source.Span
		Targets []Expr
		Value   Expr
	}

	// AnnAssign is Target: Annot = Value; Value may be nil.
	AnnAssign struct {
		At            source.Span
		Target, Annot Expr
		Value         Expr
	}

	// AugAssign is Target Op= Value.
	AugAssign struct {
		At     source.Span
		Target Expr
		Op     Op
		OpAt   source.Span
		Value  Expr
	}

	// Return has a nil Value where it stands alone.
	Return struct {
		At    source.Span
		Value Expr `parser:"'return' @@?"`
	}

	Pass     struct{ At source.Span }
	Break    struct{ At source.Span }
	Continue struct{ At source.Span }

	// Import is `import a.b as c, d`.
	Import struct {
		At    source.Span
		Names []*Alias `parser:"'import' @@ (',' @@)*"`
	}

	// FromImport is `from a.b import c as d, e`. Star is set for `import *`.
	FromImport struct {
		At     source.Span
		Module string   `parser:"'from' @('.' | '...')* @Ident? (@'.' @Ident)* 'import'"`
		Star   bool     `parser:"( @'*'"`
		Names  []*Alias `parser:"| '(' @@ (',' @@)* ','? ')' | @@ (',' @@)* )"`
	}

	// Alias is a dotted path and the name it gets, if any.
	Alias struct {
		Path string `parser:"@Ident (@'.' @Ident)*"`
		As   string `parser:"('as' @Ident)?"`
	}

	// Global is `global a, b`.
	Global struct {
		At    source.Span
		Names []*Name `parser:"'global' @@ (',' @@)*"`
	}

	// Assert is `assert Cond, Msg`; Msg may be nil.
	Assert struct {
		At   source.Span
		Cond Expr `parser:"'assert' @@"`
		Msg  Expr `parser:"(',' @@)?"`
	}

	// BadStmt is a statement that is not in the kernel language (What: "try", "raise", ...) or could not
	// be read (What: "").
	BadStmt struct {
		At   source.Span
		What string
	}
)

// Compound statements.
type (
	// If has its elif arms in order, and a nil Else where there is none.
	If struct {
		At    source.Span
		Cond  Expr    `parser:"'if' @@"`
		Body  Block   `parser:"@@"`
		Elifs []*Elif `parser:"@@*"`
		Else  *Block  `parser:"('else' @@)?"`
	}

	// Elif is one `elif Cond:` arm.
	Elif struct {
		Cond Expr  `parser:"'elif' @@"`
		Body Block `parser:"@@"`
	}

	// While is `while Cond:`.
	While struct {
		At   source.Span
		Cond Expr  `parser:"'while' @@"`
		Body Block `parser:"@@"`
	}

	// For is `for Target in Iter:`. Target is a *Name or a *Tuple of names and tuples.
	For struct {
		At     source.Span
		Target Expr  `parser:"'for' @@"`
		Iter   Expr  `parser:"'in' @@"`
		Body   Block `parser:"@@"`
	}

	// With is `with a as b, c:`.
	With struct {
		At    source.Span
		Items []*WithItem `parser:"'with' @@ (',' @@)*"`
		Body  Block       `parser:"@@"`
	}

	// WithItem is Context as As; As may be nil.
	WithItem struct {
		Context Expr `parser:"@@"`
		As      Expr `parser:"('as' @@)?"`
	}

	// FuncDef is a function with its decorators. Result is nil without `->`.
	FuncDef struct {
		At         source.Span  // from the first decorator to the end of the body
		Decorators []*Decorator `parser:"@@*"`
		Name       Name         `parser:"'def' @@"`
		Params     []*Param     `parser:"'(' (@@ (',' @@)* ','?)? ')'"`
		Result     Expr         `parser:"('->' @@)?"`
		Body       Block        `parser:"@@"`
	}

	// Param is Name: Annot = Default; Annot and Default may be nil. Star's text is "", or "*" for `*` (then
	// without a name: what follows is keyword-only) and `*args`, "**" for `**kwargs`, "/" for `/`.
	Param struct {
		Star    Star `parser:"( @@"`
		Name    Name `parser:"@@? | @@ )"`
		Annot   Expr `parser:"(':' @@)?"`
		Default Expr `parser:"('=' @@)?"`
	}

	// Star is what stands before, or instead of, a parameter's name.
	Star struct {
		At   source.Span
		Text string
	}

	// Decorator is @X.
	Decorator struct {
		X Expr `parser:"'@' @@ Newline"`
	}

	// ClassDef is a class with its decorators.
	ClassDef struct {
		At         source.Span
		Decorators []*Decorator `parser:"@@*"`
		Name       Name         `parser:"'class' @@"`
		Bases      []Expr       `parser:"('(' (@@ (',' @@)* ','?)? ')')?"`
		Body       Block        `parser:"@@"`
	}
)

// Unparen returns x without the parentheses around it.
func Unparen(x Expr) Expr {
	for {
		p, ok := x.(*Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}

// Dotted returns "pl.jit.incore" for a chain of attributes on a name, and "" for any other expression.
func Dotted(x Expr) string {
	switch x := x.(type) {
	case *Name:
		return x.Text
	case *Attr:
		if head := Dotted(x.X); head != "" {
			return head + "." + x.Sel.Text
		}
	}
	return ""
}
