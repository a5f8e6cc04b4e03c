package diag

// E04xx: extents that do not fit.
var shapeRows = []Row{}
