package ptxrun

import (
	"encoding/binary"
	"fmt"

	"ptoc/codegen/abi"
	"ptoc/codegen/ptx"
	"ptoc/tests/ptxsim"
)

// interpreter is the machine that interprets PTX.
type interpreter struct {
	*ptxsim.Memory
	cfg   Config
	text  string
	mod   *ptxsim.Module
	stats *ptxsim.Stats
}

func newInterpreter(out *ptx.Output, cfg Config, stats *ptxsim.Stats) (*interpreter, error) {
	s := &interpreter{Memory: ptxsim.NewMemory(), cfg: cfg, stats: stats}
	var err error
	if s.text, err = ptx.Compile(out.LLVM, "sm_80"); err != nil {
		return nil, err
	}
	if cfg.Edit != nil {
		s.text = cfg.Edit(s.text)
	}
	s.mod, err = ptxsim.Parse(s.text)
	return s, err
}

func (s *interpreter) segment() int { return 1 << 20 }
func (s *interpreter) close()       {}

func (s *interpreter) run(ranks [][]job, watch func(int64)) error {
	var launches []ptxsim.Launch
	for r, jobs := range ranks {
		last := 0
		for _, j := range jobs {
			launches = append(launches, ptxsim.Launch{Module: s.mod, After: last, Config: ptxsim.Config{
				Entry: abi.KernelSymbol(j.kernel.Name), Grid: [3]int{j.blocks}, Block: [3]int{j.kernel.Threads}, Shared: j.kernel.Shared, Memory: s.Memory,
				Name: fmt.Sprintf("rank %d", r), Params: binary.LittleEndian.AppendUint64(nil, j.record), Seed: s.cfg.Seed,
				StepLimit: s.cfg.StepLimit, GlobalRaces: s.cfg.Races, Host: watch,
			}})
			last = len(launches)
		}
	}
	st, err := ptxsim.RunAll(launches)
	s.stats.Steps += st.Steps
	s.stats.Products += st.Products
	s.stats.Ahead += st.Ahead
	s.stats.Read += st.Read
	s.stats.Written += st.Written
	s.stats.Conflicts += st.Conflicts
	return err
}
