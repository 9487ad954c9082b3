"""The ledger: what runs used, in whole TRES-seconds, append-only, exact at every border."""
