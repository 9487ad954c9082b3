"""The gateway over the fake Slurm and a store on disk."""
