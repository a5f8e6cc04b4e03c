package syntax

import "ptoc/lang/source"

func (n *Name) Span() source.Span     { return n.At }
func (n *Int) Span() source.Span      { return n.At }
func (n *Float) Span() source.Span    { return n.At }
func (n *Str) Span() source.Span      { return n.At }
func (n *Bool) Span() source.Span     { return n.At }
func (n *None) Span() source.Span     { return n.At }
func (n *Ellipsis) Span() source.Span { return n.At }
func (n *Attr) Span() source.Span     { return n.At }
func (n *Call) Span() source.Span     { return n.At }
func (n *Index) Span() source.Span    { return n.At }
func (n *Slice) Span() source.Span    { return n.At }
func (n *Tuple) Span() source.Span    { return n.At }
func (n *List) Span() source.Span     { return n.At }
func (n *Dict) Span() source.Span     { return n.At }
func (n *Unary) Span() source.Span    { return n.At }
func (n *Binary) Span() source.Span   { return n.At }
func (n *Compare) Span() source.Span  { return n.At }
func (n *Cond) Span() source.Span     { return n.At }
func (n *Paren) Span() source.Span    { return n.At }
func (n *BadExpr) Span() source.Span  { return n.At }

func (n *ExprStmt) Span() source.Span   { return n.At }
func (n *Assign) Span() source.Span     { return n.At }
func (n *AnnAssign) Span() source.Span  { return n.At }
func (n *AugAssign) Span() source.Span  { return n.At }
func (n *Return) Span() source.Span     { return n.At }
func (n *Pass) Span() source.Span       { return n.At }
func (n *Break) Span() source.Span      { return n.At }
func (n *Continue) Span() source.Span   { return n.At }
func (n *Import) Span() source.Span     { return n.At }
func (n *FromImport) Span() source.Span { return n.At }
func (n *Global) Span() source.Span     { return n.At }
func (n *Assert) Span() source.Span     { return n.At }
func (n *If) Span() source.Span         { return n.At }
func (n *While) Span() source.Span      { return n.At }
func (n *For) Span() source.Span        { return n.At }
func (n *With) Span() source.Span       { return n.At }
func (n *FuncDef) Span() source.Span    { return n.At }
func (n *ClassDef) Span() source.Span   { return n.At }
func (n *BadStmt) Span() source.Span    { return n.At }

func (n *Keyword) Span() source.Span { return n.At }
func (n *Block) Span() source.Span   { return n.At }

// Span of the item, `as` part included.
func (n *WithItem) Span() source.Span {
	if n.As == nil {
		return n.Context.Span()
	}
	return n.Context.Span().To(n.As.Span())
}

// Span of the decorator's expression; the @ stands just before it.
func (n *Decorator) Span() source.Span { return n.X.Span() }

// Span of the parameter with annotation and default. A bare `*` or `/` has the zero Span.
func (n *Param) Span() source.Span {
	at := n.Name.At
	if n.Annot != nil {
		at = at.To(n.Annot.Span())
	}
	if n.Default != nil {
		at = at.To(n.Default.Span())
	}
	return at
}

func (*Name) expr()     {}
func (*Int) expr()      {}
func (*Float) expr()    {}
func (*Str) expr()      {}
func (*Bool) expr()     {}
func (*None) expr()     {}
func (*Ellipsis) expr() {}
func (*Attr) expr()     {}
func (*Call) expr()     {}
func (*Index) expr()    {}
func (*Slice) expr()    {}
func (*Tuple) expr()    {}
func (*List) expr()     {}
func (*Dict) expr()     {}
func (*Unary) expr()    {}
func (*Binary) expr()   {}
func (*Compare) expr()  {}
func (*Cond) expr()     {}
func (*Paren) expr()    {}
func (*BadExpr) expr()  {}

func (*ExprStmt) stmt()   {}
func (*Assign) stmt()     {}
func (*AnnAssign) stmt()  {}
func (*AugAssign) stmt()  {}
func (*Return) stmt()     {}
func (*Pass) stmt()       {}
func (*Break) stmt()      {}
func (*Continue) stmt()   {}
func (*Import) stmt()     {}
func (*FromImport) stmt() {}
func (*Global) stmt()     {}
func (*Assert) stmt()     {}
func (*If) stmt()         {}
func (*While) stmt()      {}
func (*For) stmt()        {}
func (*With) stmt()       {}
func (*FuncDef) stmt()    {}
func (*ClassDef) stmt()   {}
func (*BadStmt) stmt()    {}
