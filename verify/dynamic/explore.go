package dynamic

import "ptoc/verify"

type exploration struct {
	complete bool
}

type scheduleLayer struct{ in Inputs }

func (scheduleLayer) Name() string { return "schedules" }

func (l scheduleLayer) Check(p *verify.Program, s verify.Scope) verify.Verdict {
	return verify.Verdict{Reason: "soon"}
}

func explored(p *verify.Program, s verify.Scope, in Inputs) *exploration { return &exploration{} }
