"""Slurm behind one port: `port` (what may be asked), `client` (the real one), `fake` (the other one)."""
