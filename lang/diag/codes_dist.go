package diag

// E05xx: windows, ranks and collectives in the wrong place.
var distRows = []Row{}
