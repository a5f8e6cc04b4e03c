package diag

// E02xx: names that mean nothing, or not that.
var nameRows = []Row{}
