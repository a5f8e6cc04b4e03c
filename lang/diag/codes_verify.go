package diag

// E06xx: signalling that can hang, race, or compute the wrong thing. The examples are checked by `ptoc
// verify --ranks 2..3`.
const (
	OutOfBounds        Code = 601
	NoSuchPeer         Code = 602
	RankDependent      Code = 603
	CollectiveMismatch Code = 604
	LostWait           Code = 605
	WaitCycle          Code = 606
	SetAndAdd          Code = 607
	EqualityWait       Code = 608
	CreditsLeft        Code = 609
	StaleSignal        Code = 610
	SharedCell         Code = 611
	DataRace           Code = 612
	DataAndSignal      Code = 613
	SignalBeforeData   Code = 614
	SyncChanged        Code = 615
	NotResident        Code = 616
	WrongValue         Code = 617
	Unwritten          Code = 618
	SeveralSetters     Code = 619
	CellAsData         Code = 620
)

var verifyRows = []Row{
	{OutOfBounds, "access outside of memory",
		"For one of the ranks and shapes that were checked, an op reads or writes outside of its tensor or window. When the program runs, the op stops it there.",
		""},
	{NoSuchPeer, "peer that does not exist",
		"A peer number lies outside of [0, nranks). Ranks are counted within the domain of the window.",
		""},
	{RankDependent, "collective that only some ranks call",
		"A collective or barrier stands under a branch or in a loop that depends on the rank. All ranks of a domain must call the same collectives in the same order; the others would wait for ever.",
		""},
	{CollectiveMismatch, "ranks that call different collectives",
		"At one point of the program ranks of one domain call different collectives, or the same one with other operands.",
		""},
	{LostWait, "wait that nobody satisfies",
		"The notifies that can reach the cell never add up to what the wait expects, so the rank hangs here.",
		""},
	{WaitCycle, "ranks that wait for each other",
		"Each rank would notify the next one only after its own wait has returned. None ever does.",
		""},
	{SetAndAdd, "signal cell that is set and added to",
		"A set and an add on one cell with nothing to order them: whichever comes second wins, and a credit is lost or invented.",
		""},
	{EqualityWait, "wait for equality that can be missed",
		"The cell can pass the expected value before the waiting rank looks: more than one notify can have arrived by then. `Ge` does not mind.",
		""},
	{CreditsLeft, "signal cell that is not zero at the end",
		"More was added to a cell than was taken back. The next run on these windows, or the next protocol on this cell, starts with stale credits.",
		""},
	{StaleSignal, "wait that an old signal satisfies",
		"A notify of an earlier round already satisfies the wait, so the wait orders nothing in this one. Signals that are used again must count up, or be taken back by what was added.",
		""},
	{SharedCell, "signal cell of two protocols",
		"Two places use one cell for different purposes with nothing between them, so that the credits of one satisfy the waits of the other.",
		""},
	{DataRace, "race on window memory",
		"Two ranks access the same bytes, one of them writes, and no notify and wait order the two accesses. The value that is read or left behind depends on chance.",
		""},
	{DataAndSignal, "data and signals in one allocation",
		"A signal cell and data share a window allocation, so that storing data can change a signal.",
		""},
	{SignalBeforeData, "signal before its data",
		"Data is written to a peer, and no notify follows that would release it; or the notify comes first. Who waits for the signal does not see the data.",
		""},
	{SyncChanged, "pass that changed the synchronisation",
		"After a pass a program notifies, waits or fences otherwise than before. This is a fault of the compiler.",
		""},
	{NotResident, "wait for a block that cannot be running",
		"A block waits for a signal that another block of the same rank sends, and there are more such blocks than the rank has cores: the sender may never start.",
		""},
	{WrongValue, "result that differs from its meaning",
		"With symbolic contributions in place of numbers, an element of the result is not what the collective, or the golden function, says.",
		""},
	{Unwritten, "read of memory that nobody wrote",
		"An output, or scratch memory, is read before anybody has written it.",
		""},
	{SeveralSetters, "signal cell that several ranks set",
		"Two ranks set one cell with nothing to order them: one of the two signals is lost.",
		""},
	{CellAsData, "signal cell accessed as data",
		"A cell that ranks notify is also stored to, or viewed with another element type. Cells are 32 bits wide and touched only by notify, wait and reads.",
		""},
}
