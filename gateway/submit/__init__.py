"""Submission over HTTP: parse, decide, record the intent, ask Slurm, record the outcome."""
