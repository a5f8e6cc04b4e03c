package check

import "strings"

// What upstream has and this language does not, and why.

type reason struct {
	names []string // the last part of the dotted name; a trailing * stands for any ending
	why   string
}

var vendorOnly = []reason{
	{[]string{"split_aiv", "aiv_shard", "aic_gather", "split", "cross_core_slot", "get_subblock_idx", "get_subblock_num"},
		"a core here is not split into two vector lanes; write the whole tile, pl.spmd makes blocks"},
	{[]string{"tpush*", "tpop*", "tfree*", "initialize_pipe", "reserve_buffer", "import_peer_buffer"},
		"there is no cube core beside a vector core to push tiles to; use the tile where you need it"},
	{[]string{"syncall", "available_aiv_count", "available_cluster_count"},
		"it waits for physical cores of one chip, and a rank here has one core; between ranks use pld.tensor.barrier"},
	{[]string{"matmul_mx*", "gemv_mx*", "MX*", "LeftScale", "RightScale", "mx_*"},
		"MX formats need hardware that multiplies them; use pl.matmul on FP16, BF16 or FP32"},
	{[]string{"FP4", "FP8E4M3FN", "FP8E5M2", "FP8E8M0", "HF4", "HF8"},
		"no backend computes with it; use FP16 or BF16"},
	{[]string{"INT4", "INT16", "UINT4", "UINT8", "UINT16", "UINT32", "UINT64"},
		"element types are FP32, FP16, BF16, INT8, INT32, INT64, BOOL and INDEX"},
	{[]string{"TASK_ID"}, "tasks run in program order, so nothing waits for their ids"},
	{[]string{"prefetch", "create_l1", "AUTO"}, "placement in on-chip memories is the compiler's business; leave it out"},
	{[]string{"reinterpret_view", "set_validshape"}, "a tile's type is fixed when it is made; use valid_shape= of pl.load, or pl.reshape"},
	{[]string{"opaque_call", "external"}, "every kernel is written in the language"},
}

var notYet = []reason{
	{[]string{"defer_wait"}, "; use pld.system.wait"},
	{[]string{"all_to_all_v"}, "; use pld.tensor.all_to_all with equal parts"},
	{[]string{"gather", "gather_row", "gatherb", "mgather", "paged_gather", "scatter", "scatter_update", "mscatter"},
		"; read and write elements in a loop: x[i, j]"},
	{[]string{"argmax", "argmin", "row_argmax", "row_argmin", "col_argmax", "col_argmin", "sort32", "mrgsort"}, ""},
	{[]string{"random", "tri"}, "; fill it on the host and pass it"},
	{[]string{"rem", "rems", "fmod", "fmods"}, "; use %, whose sign is the divisor's"},
	{[]string{"gemv*", "matmul_bias"}, "; use pl.matmul and +"},
	{[]string{"addc", "subc", "addsc", "subsc", "part_*", "prelu", "lrelu", "row_expand_expdif", "col_expand_expdif", "expand_clone", "fillpad_expand"},
		"; write it with +, -, *, pl.max and pl.sel"},
	{[]string{"bit_not", "not"}, "; use pl.logical_not, or ~x"},
}

func find(table []reason, p string) (string, bool) {
	last := p[strings.LastIndexByte(p, '.')+1:]
	for _, r := range table {
		for _, n := range r.names {
			if n == last || strings.HasSuffix(n, "*") && strings.HasPrefix(last, n[:len(n)-1]) {
				return r.why, true
			}
		}
	}
	return "", false
}

// elsewhere is why something of upstream's will not be here.
func elsewhere(p string) (string, bool) { return find(vendorOnly, p) }

// later is what to write while something of upstream's is not here yet.
func later(p string) (string, bool) { return find(notYet, p) }
