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
	grammars = sync.OnceValue(buildGrammar)

	// sessions maps numbers to the parsers at work. participle hands its leaves nothing but the lexer, so
	// each token carries the number of its parser (see tokens.Next).
	sessions    sync.Map
	lastSession atomic.Int64
)

func buildGrammar() *productions {
	root := participle.MustBuild[grammar](participle.Lexer(definition{}), participle.ParseTypeWith(parseExprLeaf))
	return &productions{
		ifStmt: production[If](root), while: production[While](root), forStmt: production[For](root),
		with: production[With](root), funcDef: production[FuncDef](root), classDef: production[ClassDef](root),
		returnStmt: production[Return](root), importStmt: production[Import](root),
		fromImport: production[FromImport](root), global: production[Global](root),
		assert: production[Assert](root),
	}
}

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
	lex, err := lexer.Upgrade(p.statementTokens())
	if err != nil {
		panic(err) // tokens.Next has none
	}
	n, err := production.ParseFromLexer(lex, participle.AllowTrailing(true))
	p.enter(lex)
	if err != nil {
		p.failParticiple(err)
	}
	return n
}

func (p *parser) statementTokens() *tokens {
	t := &tokens{p: p, pos: p.pos, compound: isCompound(p.kind())}
	switch p.kind() {
	case kIf:
		t.chain = true
	case kAt, kDef, kClass, kFrom:
		t.lists = true
	}
	return t
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
	case "Name", "Star", "<ident>", "Alias", "Param":
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
	symBlock
	symOther
)

// definition is the scanner as a lexer.Definition.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Newline": symNewline, "Indent": symIndent, "Dedent": symDedent,
		"Ident": symIdent, "Block": symBlock, "Other": symOther,
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
	p := &parser{src: source.NewFile(name, text), text: text, list: &diag.List{}}
	p.toks, _ = scan(p.src, p.list)
	return &tokens{p: p, whole: true}, p.list.Err()
}

// tokens hands one statement to participle. A body counts as one token there, so that each token of the
// file is seen by participle once at most, however deep it is nested, and most never are.
type tokens struct {
	p   *parser
	pos int

	whole    bool // hand out everything as it is
	compound bool // the statement has a body
	lists    bool // it has parentheses of its own, not of an expression
	chain    bool // and it may go on with elif and else
	depth    int  // open brackets
	lambdas  int  // colons to come that belong to a lambda
	done     bool
}

// Next returns the next token. Participle's position holds, apart from the offset, what the leaves of the
// grammar need to know: in Line the number of the parser, in Column the index of the token.
func (t *tokens) Next() (lexer.Token, error) {
	tok := t.p.toks[t.pos]
	out := lexer.Token{
		Type: symbol(tok.kind), Value: t.p.text[tok.start:tok.end],
		Pos: lexer.Position{Offset: int(tok.start), Line: t.p.session, Column: t.pos},
	}
	if s, ok := closers[tok.kind]; ok {
		out.Value = s // the text may hold another bracket, or none: see scanner.punct and closeAll
	}
	switch {
	case t.whole:
		t.pos += b2i(tok.kind != kEOF)
	case t.done || t.ends(tok.kind):
		out.Type = lexer.EOF
	case t.isBody(tok.kind):
		out.Type = symBlock
		t.pos = t.p.lineAndBlock(t.pos)
		next := t.p.toks[t.pos].kind
		t.done = !t.chain || next != kElif && next != kElse
	default:
		t.pos = t.after(t.pos)
	}
	return out, nil
}

// after returns the index of the token to hand out next. What stands between brackets is left out unless
// it is a list that the grammar itself describes: expressions are read from the file's tokens.
func (t *tokens) after(i int) int {
	switch t.p.toks[i].kind {
	case kLParen:
		if t.depth == 1 && t.lists {
			return i + 1
		}
	case kLBrack, kLBrace:
	default:
		return i + 1
	}
	for depth := 0; ; i++ {
		switch t.p.toks[i].kind {
		case kLParen, kLBrack, kLBrace:
			depth++
		case kRParen, kRBrack, kRBrace:
			if depth--; depth == 0 {
				return i // the scanner made brackets balance
			}
		}
	}
}

// ends says whether the statement is over at a token outside its bodies.
func (t *tokens) ends(k kind) bool {
	return k == kEOF || k == kIndent || k == kDedent || !t.compound && k.endsStmt()
}

// isBody says whether a body starts here: at the colon, or at the end of a line that lacks it. Lines of
// decorators have none.
func (t *tokens) isBody(k kind) bool {
	switch k {
	case kLParen, kLBrack, kLBrace:
		t.depth++
	case kRParen, kRBrack, kRBrace:
		t.depth--
	case kLambda:
		t.lambdas++
	case kColon:
		if t.depth == 0 && t.lambdas == 0 {
			return t.compound
		}
		if t.depth == 0 {
			t.lambdas--
		}
	case kNewline:
		return t.compound && !t.p.inDecorator(t.pos)
	}
	return false
}

func (p *parser) inDecorator(i int) bool {
	for i > 0 && !p.toks[i-1].kind.isLayout() {
		i--
	}
	return p.toks[i].kind == kAt
}

func symbol(k kind) lexer.TokenType {
	switch k {
	case kEOF:
		return lexer.EOF
	case kNewline:
		return symNewline
	case kIndent:
		return symIndent
	case kDedent:
		return symDedent
	case kIdent:
		return symIdent
	}
	return symOther
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Leaves of the grammar.

func sessionOf(lex *lexer.PeekingLexer) *parser {
	p, _ := sessions.Load(lex.Peek().Pos.Line)
	return p.(*parser)
}

// enter puts the parser where participle's lexer stands, leave puts the lexer where the parser stands.
func (p *parser) enter(lex *lexer.PeekingLexer) { p.pos = lex.Peek().Pos.Column }

func (p *parser) leave(lex *lexer.PeekingLexer) {
	for lex.Peek().Pos.Column < p.pos && !lex.Peek().EOF() {
		lex.Next()
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

// Parse is participle.Parseable for the marks of parameters.
func (s *Star) Parse(lex *lexer.PeekingLexer) error {
	p := sessionOf(lex)
	p.enter(lex)
	if k := p.kind(); k != kStar && k != kPower && k != kSlash {
		return participle.NextMatch
	}
	*s = Star{At: p.span(p.pos), Text: p.tokenText(p.pos)}
	p.next()
	p.leave(lex)
	return nil
}

// Parse is participle.Parseable for the bodies of compound statements.
func (b *Block) Parse(lex *lexer.PeekingLexer) error {
	p := sessionOf(lex)
	p.enter(lex)
	*b = p.block()
	p.leave(lex)
	return nil
}

// parseExprLeaf is participle.Parseable in its form for interfaces. It parses an expression of the kind
// that the token before it asks for: participle passes no arguments, and the grammar's fields are all of
// type Expr.
func parseExprLeaf(lex *lexer.PeekingLexer) (x Expr, err error) {
	p := sessionOf(lex)
	p.enter(lex)
	if !p.startsExpr() {
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
	case kLParen, kComma:
		if p.kind() == kIdent && p.peekKind(1) == kAssign {
			x = p.classKeyword()
			break
		}
		x = p.element()
	default:
		x = p.element()
	}
	p.leave(lex)
	return x, nil
}
