package ptx

import (
	_ "embed"
	"fmt"
	"strings"

	"ptoc/codegen/abi"
)

// helpers.ll is cut at lines ";@ name:". A module gets those that it uses.
//
//go:embed helpers.ll
var helperFile string

// helpers is the text of the helpers in use, with the ABI's numbers filled in.
func (g *gen) helpers() string {
	var b strings.Builder
	for _, part := range strings.Split(helperFile, ";@ ")[1:] {
		name, text, _ := strings.Cut(part, ":\n")
		if g.used[name] {
			b.WriteString(text)
		}
	}
	return numbers.Replace(b.String())
}

var numbers = func() *strings.Replacer {
	ctl := func(field string) string { return fmt.Sprint(abi.Offset[abi.RankCtl](field)) }
	return strings.NewReplacer("WAIT_SITE", ctl("WaitSite"), "WAIT_DOM", ctl("WaitDom"), "WAIT_CMP", ctl("WaitCmp"),
		"WAIT_WANT", ctl("WaitWant"), "WAIT_SEEN", ctl("WaitSeen"), "WAIT_CELL", ctl("WaitCell"), "WAITING", ctl("Waiting"),
		"PROGRESS", ctl("Progress"), "ABORTED", fmt.Sprint(int(abi.Aborted)), "TIMED_OUT", fmt.Sprint(int(abi.TimedOut)),
		"CLAIMED", fmt.Sprint(int(abi.WaitClaimed)), "PULSE", fmt.Sprint(abi.Pulse))
}()
