"""The bridge: tenants and pods become Slurm's associations and jobs.

This package also holds the core that the gateway shares: the job model (`job`), units, errors,
the sbatch grammar (`sbatch`), the tenants' rules (`policy`) and the port to Slurm (`slurm`).
"""
