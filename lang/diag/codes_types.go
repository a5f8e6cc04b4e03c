package diag

// E03xx: values of the wrong kind.
var typeRows = []Row{}
