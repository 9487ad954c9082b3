"""The gateway: the HTTP door, the mirror of jobs, the ledger and the command line."""
