#!/bin/bash
# Two nodes, two h100 on each: every node adds up its half of the frames of a star, one node takes the mean.
#SBATCH --job-name=stack-frames
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=h100:2
#SBATCH --mem=512M
#SBATCH --time=5
#SBATCH --output=%x-%j.out
set -euo pipefail
echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST"
sums=stack-frames-$SLURM_JOB_ID.sums
mkdir "$sums"
export sums

# shellcheck disable=SC2016 # expanded on the nodes
srun bash -c '
    awk -v seed="10$SLURM_PROCID" -v frames=15000000 "BEGIN {
        srand(seed)
        for (frame = 0; frame < frames; frame++) light += 1000 + 50 * (rand() + rand() + rand() - 1.5)
        printf \"%d %.0f\n\", frames, light
    }" > "$sums/$SLURM_PROCID"
    echo "node $SLURM_PROCID ($(hostname)): $(cat "$sums/$SLURM_PROCID")"'

awk '{ frames += $1; light += $2 } END { printf "%d frames, mean brightness %.2f\n", frames, light / frames }' "$sums"/*
