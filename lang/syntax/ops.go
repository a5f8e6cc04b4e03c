package syntax

// An Op is an operator of the surface language.
type Op uint8

const (
	NoOp Op = iota

	Add      // +
	Sub      // -
	Mul      // *
	Div      // /
	FloorDiv // //
	Mod      // %
	Pow      // **
	MatMul   // @
	Shl      // <<
	Shr      // >>
	BitAnd   // &
	BitOr    // |
	BitXor   // ^
	And      // and
	Or       // or

	Neg    // -x
	Plus   // +x
	Invert // ~x
	Not    // not x

	Eq    // ==
	Ne    // !=
	Lt    // <
	Le    // <=
	Gt    // >
	Ge    // >=
	Is    // is
	IsNot // is not
	In    // in
	NotIn // not in
)

var opText = [...]string{
	NoOp: "?", Add: "+", Sub: "-", Mul: "*", Div: "/", FloorDiv: "//", Mod: "%", Pow: "**", MatMul: "@",
	Shl: "<<", Shr: ">>", BitAnd: "&", BitOr: "|", BitXor: "^", And: "and", Or: "or",
	Neg: "-", Plus: "+", Invert: "~", Not: "not",
	Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=",
	Is: "is", IsNot: "is not", In: "in", NotIn: "not in",
}

func (o Op) String() string { return opText[o] }

// Levels of binding, from loosest to tightest, as in Python. A binary operator binds its right operand one
// level tighter (it associates to the left), except ** and the conditional.
const (
	precLambda = iota + 1
	precCond
	precOr
	precAnd
	precNot
	precCompare
	precBitOr
	precBitXor
	precBitAnd
	precShift
	precAdd
	precMul
	precUnary
	precPow
	precPrimary
)

var opPrec = [...]uint8{
	Or: precOr, And: precAnd, Not: precNot,
	Eq: precCompare, Ne: precCompare, Lt: precCompare, Le: precCompare, Gt: precCompare, Ge: precCompare,
	Is: precCompare, IsNot: precCompare, In: precCompare, NotIn: precCompare,
	BitOr: precBitOr, BitXor: precBitXor, BitAnd: precBitAnd, Shl: precShift, Shr: precShift,
	Add: precAdd, Sub: precAdd, Mul: precMul, Div: precMul, FloorDiv: precMul, Mod: precMul, MatMul: precMul,
	Neg: precUnary, Plus: precUnary, Invert: precUnary, Pow: precPow,
}
