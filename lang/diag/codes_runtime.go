package diag

// E07xx: files, command lines and programs that run.
const (
	FileUnreadable Code = 701
)

var runtimeRows = []Row{
	{FileUnreadable, "file that cannot be read",
		"A file named on the command line does not exist or may not be read.", ""},
}
