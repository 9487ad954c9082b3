"""Slurm's commands for hosts without Slurm: ``sluice sbatch``, ``squeue``, ``sacct``, ... over HTTP.

They take Slurm's own arguments and print what Slurm's print, so that programs which call sbatch work by them
(`gateway.cli.link` puts them under Slurm's names). Started often, they import no more than they need.
"""
