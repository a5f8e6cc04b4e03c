package diag

// E06xx: signalling that can hang or race.
var verifyRows = []Row{}
