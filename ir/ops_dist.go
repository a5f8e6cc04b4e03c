package ir

// Rows of the distributed surface: windows, signals, remote accesses, collectives.

// Enumerations; positions are the ABI numbers: append only.
var (
	NotifyOp   = &EnumType{"pld.NotifyOp", []string{"AtomicAdd", "Set"}}
	WaitCmp    = &EnumType{"pld.WaitCmp", []string{"Eq", "Ge"}}
	AtomicType = &EnumType{"pld.AtomicType", []string{"None_", "Add"}}
	ReduceOp   = &EnumType{"pld.ReduceOp", []string{"Sum", "Max", "Min", "Prod"}}
)

// EnumTypes lists every enumeration of the surface.
var EnumTypes = []*EnumType{CmpType, RoundMode, LoopKind, NotifyOp, WaitCmp, AtomicType, ReduceOp}

var (
	WorldSize = register(Kind{Name: "pld.system.world_size", Spell: names("pld.world_size"), Where: InHost | InGolden,
		Doc: "The number of ranks that the program runs on.", Params: []Param{},
		Result: func(*Op) ([]Type, error) { return []Type{&Scalar{INDEX}}, nil }})

	GetCommCtx = register(Kind{Name: "pld.system.get_comm_ctx", Spell: names("pld.get_comm_ctx"), Where: InHost | Device,
		Doc: "The communication domain that a window belongs to.", Params: []Param{{Name: "target", Kind: PWindow}},
		Result: func(*Op) ([]Type, error) { return []Type{&CommCtx{}}, nil }})
	Rank = register(Kind{Name: "pld.system.rank", Spell: names("pld.rank"), Where: Device,
		Doc: "This rank's number in the domain.", Params: []Param{{Name: "ctx", Kind: PCtx}},
		Result: func(*Op) ([]Type, error) { return []Type{&Scalar{INDEX}}, nil }})
	NRanks = register(Kind{Name: "pld.system.nranks", Spell: names("pld.nranks"), Where: Device,
		Doc: "How many ranks the domain has.", Params: []Param{{Name: "ctx", Kind: PCtx}},
		Result: func(*Op) ([]Type, error) { return []Type{&Scalar{INDEX}}, nil }})

	Notify = register(Kind{Name: "pld.system.notify", Spell: names("pld.notify"), Where: Device,
		Doc: "Adds value to, or sets, a signal cell of a peer. Releases everything that this kernel did before: whoever " +
			"waits for the value sees it.",
		Params: []Param{{Name: "target", Kind: PWindow, DTypes: []DType{INT32}}, {Name: "peer", Kind: PInt},
			{Name: "offsets", Kind: PInts}, {Name: "value", Kind: PInt},
			{Name: "op", Kind: AEnum, Enum: NotifyOp, Optional: true, KwOnly: true, Default: NotifyOp.Of("AtomicAdd")}},
		Effects: []Effect{{Kind: Signals, Mem: "target", Peer: "peer", Offsets: "offsets"}},
		Result:  func(op *Op) ([]Type, error) { return nil, checkSignal(op, "target", "value") }})

	Wait = register(Kind{Name: "pld.system.wait", Spell: names("pld.wait"), Where: Device,
		Doc: "Blocks until a signal cell of this rank equals, or is at least, expected. Acquires what the notifies that " +
			"it needed released.",
		Params: []Param{{Name: "signal", Kind: PWindow, DTypes: []DType{INT32}}, {Name: "offsets", Kind: PInts},
			{Name: "expected", Kind: PInt},
			{Name: "cmp", Kind: AEnum, Enum: WaitCmp, Optional: true, KwOnly: true, Default: WaitCmp.Of("Ge")}},
		Effects: []Effect{{Kind: Waits, Mem: "signal", Offsets: "offsets"}, {Kind: Blocks}},
		Result:  func(op *Op) ([]Type, error) { return nil, checkSignal(op, "signal", "expected") }})

	Fence = register(Kind{Name: "pl.system.fence", Spell: names("pl.fence"), Where: Device,
		Doc: "Orders all of this rank's memory accesses before it with all after it.", Params: []Param{},
		Effects: []Effect{{Kind: Fences}}})

	AllocWindow = register(Kind{Name: "pld.system.alloc_window_buffer",
		Spell: names("pld.alloc_window_buffer", "pld.tensor.alloc_window_buffer"), Where: InHost,
		Doc: "Symmetric memory: the same zeroed allocation on every rank of its domain, at least the given bytes, or a " +
			"shape with dtype=. Aligned to 64 bytes.",
		Params: []Param{{Name: "shape", Kind: PInts}, {Name: "dtype", Kind: ADType, Optional: true, KwOnly: true},
			{Name: "domain", Kind: AStr, Optional: true, KwOnly: true, Default: ""}},
		Effects: []Effect{{Kind: Allocates}},
		Result:  allocWindowType})

	Window = register(Kind{Name: "pld.system.window", Spell: names("pld.window", "pld.tensor.window"), Where: InHost,
		Doc:    "Views an allocation as a distributed tensor; several views may share one allocation.",
		Params: []Param{{Name: "buffer", Kind: PBuffer}, {Name: "shape", Kind: PInts}, {Name: "dtype", Kind: ADType, KwOnly: true}},
		Result: windowType})

	Put = register(Kind{Name: "pld.tensor.put", Where: Device,
		Spell: []Spelling{{Name: "pld.put"}, {Name: "pld.tile.put", Drop: []string{"stage", "stage2"}}},
		Doc: "Copies from this rank's memory to a peer's window. On return src may be reused; the peer sees the data " +
			"only after a later notify of this kernel.",
		Params: append([]Param{{Name: "dst", Kind: PWindow}, {Name: "peer", Kind: PInt}, {Name: "src", Kind: PMem}}, append(copyParams,
			Param{Name: "atomic", Kind: AEnum, Enum: AtomicType, Optional: true, KwOnly: true, Default: AtomicType.Of("None_")},
			Param{Name: "stream", Kind: ABool, Optional: true, KwOnly: true, Default: false})...),
		Linear: true,
		Effects: []Effect{{Kind: Reads, Mem: "src", Offsets: "src_offsets", Shape: "shape"},
			{Kind: RemoteWrites, Mem: "dst", Peer: "peer", Offsets: "dst_offsets", Shape: "shape", Atomic: "atomic"}},
		Result: func(op *Op) ([]Type, error) { return nil, checkCopy(op) }})

	Get = register(Kind{Name: "pld.tensor.get", Where: Device,
		Spell:  []Spelling{{Name: "pld.get"}, {Name: "pld.tile.get", Drop: []string{"stage", "stage2"}}},
		Doc:    "Copies from a peer's window to this rank's memory.",
		Params: append([]Param{{Name: "dst", Kind: PMem}, {Name: "peer", Kind: PInt}, {Name: "src", Kind: PWindow}}, copyParams...),
		Linear: true,
		Effects: []Effect{{Kind: RemoteReads, Mem: "src", Peer: "peer", Offsets: "src_offsets", Shape: "shape"},
			{Kind: Writes, Mem: "dst", Offsets: "dst_offsets", Shape: "shape"}},
		Result: func(op *Op) ([]Type, error) { return nil, checkCopy(op) }})

	RemoteLoad = register(Kind{Name: "pld.tile.remote_load", Spell: withDrop(ignoredPlacement, names("pld.remote_load", "pld.tensor.remote_load")), Where: Device,
		Doc: "Reads a rectangle of a peer's window into a tile.", Map: Relabel, Linear: true,
		Params: []Param{{Name: "target", Kind: PWindow}, {Name: "peer", Kind: PInt}, {Name: "offsets", Kind: PInts},
			{Name: "shape", Kind: PInts}, validShape},
		Effects: []Effect{{Kind: RemoteReads, Mem: "target", Peer: "peer", Offsets: "offsets", Shape: "shape"}},
		Result:  func(op *Op) ([]Type, error) { return loadTile(op, "target") }})

	RemoteStore = register(Kind{Name: "pld.tile.remote_store", Where: Device, Linear: true,
		Spell: []Spelling{{Name: "pld.remote_store"}, {Name: "pld.tensor.remote_store"}},
		Doc:   "Writes a tile into a rectangle of a peer's window.",
		Params: []Param{{Name: "tile", Kind: PTile}, {Name: "target", Kind: PWindow}, {Name: "peer", Kind: PInt}, {Name: "offsets", Kind: PInts},
			{Name: "atomic", Kind: AEnum, Enum: AtomicType, Optional: true, KwOnly: true, Default: AtomicType.Of("None_")},
			{Name: "stream", Kind: ABool, Optional: true, KwOnly: true, Default: false}},
		Effects: []Effect{{Kind: RemoteWrites, Mem: "target", Peer: "peer", Offsets: "offsets", Shape: "tile", Atomic: "atomic"}},
		Result:  func(op *Op) ([]Type, error) { return nil, checkStore(op, "tile", "target") }})

	// Peer makes remote accesses uniform after lowering: a load or store through it is remote.
	Peer = register(Kind{Name: "pld.tensor.peer_view", Where: Device, Internal: true, Map: Relabel, Linear: true,
		Doc:    "The peer's copy of a window, as memory.",
		Params: []Param{{Name: "target", Kind: PWindow}, {Name: "peer", Kind: PInt}},
		Result: func(op *Op) ([]Type, error) { return []Type{op.Val("target").Type}, nil }})

	// CommDomain is made by MaterializeCommDomainScopes: the windows allocated in its region with
	// domain=name are shared by the devices listed (none: all).
	CommDomain = register(Kind{Name: "pld.comm_domain", Where: InHost, Control: true, Internal: true,
		Doc:    "A scope in which the listed devices (none listed: all) share the windows allocated with domain=name.",
		Params: []Param{{Name: "name", Kind: AStr}, {Name: "devices", Kind: PInts, Optional: true}}})
)

var copyParams = []Param{
	{Name: "dst_offsets", Kind: PInts, Optional: true}, {Name: "src_offsets", Kind: PInts, Optional: true},
	{Name: "shape", Kind: PInts, Optional: true},
	{Name: "chunk_rows", Kind: AInt, Optional: true, KwOnly: true, Default: int64(0)},
	{Name: "chunk_cols", Kind: AInt, Optional: true, KwOnly: true, Default: int64(0)},
	{Name: "pipeline", Kind: ABool, Optional: true, KwOnly: true, Default: false},
}

// Collectives. Host and device functions may call them; passes rewrite them into stdlib code.
var (
	AllReduce = collective("allreduce",
		"Reduces target over all ranks, in place; every rank gets the same bits. mode: auto, mesh, ring, central, oneshot, push, "+
			"eager. slots and turns are memory for eager, which the compiler adds where it can.",
		[]Param{{Name: "target", Kind: PWindow}, {Name: "signal", Kind: PWindow, Optional: true, DTypes: []DType{INT32}}, reduceParam,
			{Name: "mode", Kind: AStr, Optional: true, KwOnly: true, Default: "auto"},
			{Name: "core_num", Kind: AInt, Optional: true, KwOnly: true, Default: int64(1)},
			{Name: "slots", Kind: PWindow, Optional: true, KwOnly: true},
			{Name: "turns", Kind: PWindow, Optional: true, KwOnly: true, DTypes: []DType{INT32}}}, "target", checkAllReduce)
	Barrier = collective("barrier", "No rank returns before every rank has called it.",
		[]Param{{Name: "signal", Kind: PWindow, DTypes: []DType{INT32}}}, "signal", nil)
	Broadcast_ = collective("broadcast", "Copies root's target to every rank's target.",
		[]Param{{Name: "target", Kind: PWindow}, signalParam, {Name: "root", Kind: AInt, KwOnly: true}}, "target", checkRoot)
	AllGather = collective("allgather", "target[r, :] of every rank becomes rank r's local_data.",
		[]Param{{Name: "local_data", Kind: PMem}, {Name: "target", Kind: PWindow}, signalParam}, "target", checkGather)
	ReduceScatter = collective("reduce_scatter", "Row r of rank r's target becomes the reduction of everybody's row r; the other rows are undefined.",
		[]Param{{Name: "target", Kind: PWindow}, signalParam, reduceParam}, "target", checkReduceScatter)
	AllToAll = collective("all_to_all", "Row s of rank r's target becomes row r of rank s's input.",
		[]Param{{Name: "input", Kind: PMem}, {Name: "target", Kind: PWindow}, signalParam}, "target", checkAllToAll)

	signalParam = Param{Name: "signal", Kind: PWindow, DTypes: []DType{INT32}}
	reduceParam = Param{Name: "op", Kind: AEnum, Enum: ReduceOp, Optional: true, KwOnly: true, Default: ReduceOp.Of("Sum")}
)

func collective(name, doc string, params []Param, returns string, check func(*Op) error) *Kind {
	var eff []Effect
	for _, p := range params {
		switch {
		case p.Name == "signal":
			eff = append(eff, Effect{Kind: Signals, Mem: p.Name}, Effect{Kind: Waits, Mem: p.Name})
		case p.Name == "turns":
			eff = append(eff, Effect{Kind: Signals, Mem: p.Name}, Effect{Kind: Waits, Mem: p.Name}, Effect{Kind: Reads, Mem: p.Name}, Effect{Kind: Writes, Mem: p.Name})
		case p.Name == "target" || p.Name == "slots":
			eff = append(eff, Effect{Kind: RemoteReads, Mem: p.Name}, Effect{Kind: RemoteWrites, Mem: p.Name},
				Effect{Kind: Reads, Mem: p.Name}, Effect{Kind: Writes, Mem: p.Name})
		case p.Kind == PMem:
			eff = append(eff, Effect{Kind: Reads, Mem: p.Name})
		}
	}
	return register(Kind{Name: "pld.tensor." + name, Spell: names("pld." + name), Doc: doc, Where: InHost | Device, Params: params,
		Effects: append(eff, Effect{Kind: Blocks}), Returns: returns, Composite: true,
		Result: func(op *Op) ([]Type, error) {
			if check == nil {
				return nil, nil
			}
			return nil, check(op)
		}})
}
