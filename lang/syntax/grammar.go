package syntax

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// grammar ties the statements that participle parses into one parser. Which of them a statement is its
// first token says, so parser.statement picks the production itself: there is never a choice to try out.
type grammar struct {
	If         *If         `parser:"  @@"`
	While      *While      `parser:"| @@"`
	For        *For        `parser:"| @@"`
	With       *With       `parser:"| @@"`
	FuncDef    *FuncDef    `parser:"| @@"`
	ClassDef   *ClassDef   `parser:"| @@"`
	Return     *Return     `parser:"| @@"`
	Import     *Import     `parser:"| @@"`
	FromImport *FromImport `parser:"| @@"`
	Global     *Global     `parser:"| @@"`
	Assert     *Assert     `parser:"| @@"`
}

// The parsers of each statement. participle builds them by reflection, once.
var (
	grammars = sync.OnceValue(func() *productions {
		root := participle.MustBuild[grammar](participle.Lexer(definition{}), participle.ParseTypeWith(parseExprLeaf))
		return &productions{
			ifStmt: production[If](root), while: production[While](root), forStmt: production[For](root),
			with: production[With](root), funcDef: production[FuncDef](root), classDef: production[ClassDef](root),
			returnStmt: production[Return](root), importStmt: production[Import](root),
			fromImport: production[FromImport](root), global: production[Global](root),
			assert: production[Assert](root),
		}
	})

	// sessions maps numbers to the parsers at work. participle hands its leaves nothing but the lexer, so
	// each token carries the number of its parser (see tokens.Next).
	sessions    sync.Map
	lastSession atomic.Int64
)

type productions struct {
	ifStmt     *participle.Parser[If]
	while      *participle.Parser[While]
	forStmt    *participle.Parser[For]
	with       *participle.Parser[With]
	funcDef    *participle.Parser[FuncDef]
	classDef   *participle.Parser[ClassDef]
	returnStmt *participle.Parser[Return]
	importStmt *participle.Parser[Import]
	fromImport *participle.Parser[FromImport]
	global     *participle.Parser[Global]
	assert     *participle.Parser[Assert]
}

func production[P any](root *participle.Parser[grammar]) *participle.Parser[P] {
	p, err := participle.ParserForProduction[P](root)
	if err != nil {
		panic(err) // a type that grammar does not mention
	}
	return p
}

// run parses one statement by its production, from where the parser stands.
func run[P any](p *parser, production *participle.Parser[P]) *P {
	p.sync()
	n, err := production.ParseFromLexer(p.lex, participle.AllowTrailing(true))
	if at := p.base + int(p.lex.RawCursor()); at > p.pos {
		p.pos = at
	}
	if err != nil {
		p.failParticiple(err)
	}
	return n
}

// failParticiple turns participle's error into ours. Errors of the leaves do not come this way.
func (p *parser) failParticiple(err error) {
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		p.fail(diag.Internal, p.span(p.pos), "%s", err)
	}
	// The lexer below put the token's index where participle keeps columns.
	p.pos = unexpected.Unexpected.Pos.Column
	p.failExpected(describeExpected(unexpected.Message()))
}

// describeExpected reads what participle wanted out of its message, whose form is
// `unexpected token "x" (expected y)`.
func describeExpected(message string) string {
	_, want, ok := strings.Cut(message, "(expected ")
	if !ok {
		return "something else"
	}
	want = strings.TrimSuffix(want, ")")
	switch first, _, _ := strings.Cut(want, " "); first {
	case "Expr", "WithItem":
		return "an expression"
	case "Name", "<ident>", "Alias", "Param":
		return "a name"
	case "Block":
		return "':'"
	case "<newline>":
		return "the end of the line"
	}
	if s, found := strings.CutPrefix(want, `"`); found {
		if token, _, found := strings.Cut(s, `"`); found {
			return "'" + token + "'"
		}
	}
	return "something else"
}

// Tokens as participle sees them: it tells keywords and operators apart by their text.
const (
	symNewline lexer.TokenType = iota + 1
	symIndent
	symDedent
	symIdent
	symOther
)

// definition is the scanner as a lexer.Definition.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Newline": symNewline, "Indent": symIndent, "Dedent": symDedent,
		"Ident": symIdent, "Other": symOther,
	}
}

func (d definition) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexString(name, string(text))
}

func (definition) LexString(name, text string) (lexer.Lexer, error) {
	var errs diag.List
	f := source.NewFile(name, text)
	toks, _ := scan(f, &errs)
	return &tokens{text: f.Text, toks: toks}, errs.Err()
}

// tokens hands a piece of the scanned tokens to participle.
type tokens struct {
	text string
	toks []token
	base int // index of the first token in its file
	next int

	session int // number of the parser
}

func (t *tokens) Next() (lexer.Token, error) {
	if t.next == len(t.toks) {
		return lexer.EOFToken(lexer.Position{Line: t.session, Column: t.base + t.next}), nil
	}
	tok := t.toks[t.next]
	out := lexer.Token{
		Type: symOther, Value: t.text[tok.start:tok.end],
		Pos: lexer.Position{Offset: int(tok.start), Line: t.session, Column: t.base + t.next},
	}
	switch tok.kind {
	case kEOF:
		out.Type = lexer.EOF
	case kNewline:
		out.Type = symNewline
	case kIndent:
		out.Type = symIndent
	case kDedent:
		out.Type = symDedent
	case kIdent:
		out.Type = symIdent
	case kRParen, kRBrack, kRBrace:
		out.Value = closers[tok.kind] // the text may hold another one, or none: see scanner.punct
	}
	t.next++
	return out, nil
}

var closers = map[kind]string{kRParen: ")", kRBrack: "]", kRBrace: "}"}

// Leaves of the grammar.

func sessionOf(lex *lexer.PeekingLexer) *parser {
	p, _ := sessions.Load(lex.Peek().Pos.Line)
	return p.(*parser)
}

// enter puts the parser where participle's lexer stands, leave puts the lexer where the parser stands.
func (p *parser) enter(lex *lexer.PeekingLexer) { p.pos = p.base + int(lex.RawCursor()) }

func (p *parser) leave(lex *lexer.PeekingLexer) {
	if n := p.pos - p.base; n > int(lex.RawCursor()) {
		lex.FastForward(lexer.RawCursor(n - 1))
	}
}

// Parse is participle.Parseable for names.
func (n *Name) Parse(lex *lexer.PeekingLexer) error {
	p := sessionOf(lex)
	p.enter(lex)
	if p.kind() != kIdent && !p.kind().isKeyword() {
		return participle.NextMatch
	}
	*n = p.name()
	p.leave(lex)
	return nil
}

// Parse is participle.Parseable for the bodies of compound statements.
func (b *Block) Parse(lex *lexer.PeekingLexer) error {
	p := sessionOf(lex)
	outer := p.lex
	p.enter(lex)
	p.lex = lex
	*b = p.block()
	p.lex = outer
	p.leave(lex)
	return nil
}

// parseExprLeaf is participle.Parseable in its form for interfaces. It parses an expression of the kind
// that the token before it asks for: participle passes no arguments, and the grammar's fields are all of
// type Expr.
func parseExprLeaf(lex *lexer.PeekingLexer) (x Expr, err error) {
	p := sessionOf(lex)
	p.enter(lex)
	if p.kind().endsStmt() {
		return nil, participle.NextMatch
	}
	before := kNewline
	if p.pos > 0 {
		before = p.toks[p.pos-1].kind
	}
	switch before {
	case kFor:
		x = p.targets()
	case kIn, kReturn:
		x = p.exprList()
	case kAs:
		x = p.target()
	default:
		x = p.expr()
	}
	p.leave(lex)
	return x, nil
}
