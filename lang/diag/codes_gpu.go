package diag

// E074x: programs on GPUs.
const (
	NoGPU        Code = 740
	RanksDontFit Code = 741
	GPUStopped   Code = 742
	GPURefuses   Code = 743
	NoLLVM       Code = 744
	BlocksInTurn Code = 745
)

var gpuRows = []Row{
	{NoGPU, "no GPU to run on",
		"--target cuda needs NVIDIA's driver and a GPU of compute capability 8.0 (Ampere) or later. The CUDA toolkit is not needed.", ""},
	{RanksDontFit, "ranks do not fit onto the GPU",
		"All ranks of a GPU must be resident at the same time: one that is not there would be waited for, for ever. The message says how many blocks the GPU holds of the kernel. Run fewer ranks, or make the kernel's tiles smaller. With --workers process every rank needs a GPU of its own, and all must reach each other's memory.", ""},
	{GPUStopped, "the GPU stopped",
		"The driver reports an error while kernels run, after which nothing works on the GPU in this process.", ""},
	{GPURefuses, "error of NVIDIA's driver",
		"The driver refuses a call; the message has its words. Most often the GPU's memory is used up, by this program or by another one. The GPU works on.", ""},
	{NoLLVM, "no LLVM to compile GPU kernels",
		"PTX is made by LLVM's libLLVM or llc, of a version from 14 to 19. One that fails, or writes something else, is no use either. A bundle that was compiled elsewhere needs neither.", ""},
	{BlocksInTurn, "blocks of pl.spmd that run one after the other",
		"On a GPU the blocks of a pl.spmd loop are blocks of a grid, unless one goes on with a value of the one before it, or all need an array, or a tile of a size that is known only then, that can be made only once, because signals or writes are part of making it. One block then runs them in order: right, but no faster than a loop. What is carried from block to block is pl.range's; or give each block a part of a tensor of its own, and add up behind the loop. An array or tile that all need can be a tensor. ptoc verify finds blocks that use one place at the same time (E0621).",
		"@pl.jit.incore\ndef f(x: pl.Tensor[[8], pl.FP32], y: pl.Out[pl.Tensor[[8], pl.FP32]]):\n    sum = 0.0\n    for b in pl.spmd(8):  # WARNING \"sum of the block before it\"\n        sum = sum + x[b]\n        y[b] = sum\n"},
}
