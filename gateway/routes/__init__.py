"""HTTP routes, one file a resource. HTTP only: what happens is in submit, track, ledger and store."""
