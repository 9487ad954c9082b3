"""The command line `sluice`: a client of the API; `up`, `down` and `test` drive the local stack."""
