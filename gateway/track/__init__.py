"""The mirror of jobs: what slurmctld and accounting show becomes rows that every read is served from."""
