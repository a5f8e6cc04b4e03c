package syntax

import (
	"slices"
	"strings"
)

// Host code of lenient files.

// worthReading looks at a top-level statement of a lenient file: might it matter to a kernel?
func (p *parser) worthReading(start, end int) bool {
	switch p.toks[start].kind {
	case kImport, kFrom, kIdent:
		return true
	case kAt, kDef:
		for i := start; i < end; i++ {
			switch p.toks[i].kind {
			case kAt:
				if p.isKernelDecorator(i) {
					return true
				}
			case kReturn: // what another factory makes
				if p.toks[i+1].kind == kIdent && p.toks[i+2].kind == kLParen && p.factories[p.tokenText(i+1)] {
					return true
				}
			}
		}
	}
	return false
}

// findFactories notes the functions that define kernels, or return what such a function makes.
func (p *parser) findFactories() {
	p.factories = map[string]bool{}
	for found := true; found; {
		found = false
		for i := p.pos; p.toks[i].kind != kEOF; {
			end := p.chunkEnd(i)
			if p.toks[i].kind == kDef && p.toks[i+1].kind == kIdent && p.worthReading(i, end) {
				name := p.tokenText(i + 1)
				found = found || !p.factories[name]
				p.factories[name] = true
			}
			i = end
		}
	}
}

// isKernelDecorator says whether an @ starts a line and names something of ours.
func (p *parser) isKernelDecorator(i int) bool {
	if i > 0 && !p.toks[i-1].kind.isLayout() || p.toks[i+1].kind != kIdent {
		return false
	}
	return slices.Contains(p.roots, p.tokenText(i+1))
}

// noteImports learns other names for the modules that kernels import.
func (p *parser) noteImports(stmts []Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *Import:
			for _, a := range s.Names {
				if isKernelModule(a.Path) && a.As != "" {
					p.roots = append(p.roots, a.As)
				}
			}
		case *FromImport:
			for _, a := range s.Names {
				if isKernelModule(s.Module) {
					p.roots = append(p.roots, a.Path, a.As)
				}
			}
		}
	}
}

func isKernelModule(path string) bool {
	root, _, _ := strings.Cut(path, ".")
	return root == "pypto" || root == "ptoc"
}

// keepDeclarations leaves out of host code what declares nothing, and what could not be read.
func keepDeclarations(stmts []Stmt, clean bool) (out []Stmt) {
	for _, s := range stmts {
		switch s.(type) {
		case *FuncDef, *ClassDef:
			out = append(out, s)
		case *Import, *FromImport, *Assign, *AnnAssign:
			if clean {
				out = append(out, s)
			}
		}
	}
	return out
}
