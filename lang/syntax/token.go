package syntax

// A kind says what a token is. Keywords and operators each have their own.
type kind uint8

const (
	kEOF kind = iota
	kNewline
	kIndent
	kDedent
	kIdent
	kInt
	kFloat
	kString

	// Brackets and punctuation.
	kLParen
	kRParen
	kLBrack
	kRBrack
	kLBrace
	kRBrace
	kComma
	kColon
	kSemi
	kDot
	kEllipsis
	kArrow
	kWalrus
	kAssign

	// Binary operators, in the order of augOps below.
	kPlus
	kMinus
	kStar
	kSlash
	kDblSlash
	kPercent
	kPower
	kAt
	kShl
	kShr
	kAmp
	kPipe
	kCaret
	kTilde
	kEq
	kNe
	kLt
	kLe
	kGt
	kGe

	// Augmented assignment: kPlus + (kAugAdd - kPlus) and so on.
	kAugAdd
	kAugSub
	kAugMul
	kAugDiv
	kAugFloorDiv
	kAugMod
	kAugPow
	kAugMatMul
	kAugShl
	kAugShr
	kAugAnd
	kAugOr
	kAugXor

	kFirstKeyword // not a token
	kAnd
	kAs
	kAssert
	kAsync
	kAwait
	kBreak
	kClass
	kContinue
	kDef
	kDel
	kElif
	kElse
	kExcept
	kFalse
	kFinally
	kFor
	kFrom
	kGlobal
	kIf
	kImport
	kIn
	kIs
	kLambda
	kNone
	kNonlocal
	kNot
	kOr
	kPass
	kRaise
	kReturn
	kTrue
	kTry
	kWhile
	kWith
	kYield
)

// A token is a kind and the bytes [start, end) of the text. Layout tokens (newline, indent, dedent) and
// brackets that the scanner supplied for missing ones are empty.
type token struct {
	kind       kind
	start, end int32
}

func (k kind) isKeyword() bool { return k > kFirstKeyword }
func (k kind) isLayout() bool  { return k <= kDedent }
func (k kind) isAug() bool     { return k >= kAugAdd && k <= kAugXor }

// endsStmt says that no expression goes on past the token.
func (k kind) endsStmt() bool { return k.isLayout() || k == kSemi }

// startsStmt says that a keyword can only begin a statement: inside brackets it proves that a closing one
// is missing.
func (k kind) startsStmt() bool {
	switch k {
	case kAssert, kBreak, kClass, kContinue, kDef, kDel, kExcept, kFinally, kGlobal, kImport, kNonlocal,
		kPass, kRaise, kReturn, kTry, kWhile, kWith:
		return true
	}
	return false
}

// A Go switch on strings compares lengths first: this is the fastest keyword table that there is.
func keyword(s string) kind {
	switch s {
	case "and":
		return kAnd
	case "as":
		return kAs
	case "assert":
		return kAssert
	case "async":
		return kAsync
	case "await":
		return kAwait
	case "break":
		return kBreak
	case "class":
		return kClass
	case "continue":
		return kContinue
	case "def":
		return kDef
	case "del":
		return kDel
	case "elif":
		return kElif
	case "else":
		return kElse
	case "except":
		return kExcept
	case "False":
		return kFalse
	case "finally":
		return kFinally
	case "for":
		return kFor
	case "from":
		return kFrom
	case "global":
		return kGlobal
	case "if":
		return kIf
	case "import":
		return kImport
	case "in":
		return kIn
	case "is":
		return kIs
	case "lambda":
		return kLambda
	case "None":
		return kNone
	case "nonlocal":
		return kNonlocal
	case "not":
		return kNot
	case "or":
		return kOr
	case "pass":
		return kPass
	case "raise":
		return kRaise
	case "return":
		return kReturn
	case "True":
		return kTrue
	case "try":
		return kTry
	case "while":
		return kWhile
	case "with":
		return kWith
	case "yield":
		return kYield
	}
	return kIdent
}

// IsKeyword reports whether a name is reserved and so cannot name anything.
func IsKeyword(name string) bool { return keyword(name) != kIdent }

// binaryOp maps tokens to operators of arithmetic, bits and comparison; `and`, `or`, `not in` and `is not`
// are the expression parser's business.
var binaryOp = [256]Op{
	kPlus: Add, kMinus: Sub, kStar: Mul, kSlash: Div, kDblSlash: FloorDiv, kPercent: Mod, kPower: Pow,
	kAt: MatMul, kShl: Shl, kShr: Shr, kAmp: BitAnd, kPipe: BitOr, kCaret: BitXor,
	kEq: Eq, kNe: Ne, kLt: Lt, kLe: Le, kGt: Gt, kGe: Ge, kIs: Is, kIn: In, kNot: NotIn,
	kAnd: And, kOr: Or,
	kAugAdd: Add, kAugSub: Sub, kAugMul: Mul, kAugDiv: Div, kAugFloorDiv: FloorDiv, kAugMod: Mod,
	kAugPow: Pow, kAugMatMul: MatMul, kAugShl: Shl, kAugShr: Shr, kAugAnd: BitAnd, kAugOr: BitOr,
	kAugXor: BitXor,
}

var closers = map[kind]string{kRParen: ")", kRBrack: "]", kRBrace: "}"}
