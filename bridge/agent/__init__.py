"""The slurm-agent: the only process that speaks to Slurm, for the bridge and the gateway."""
