#!/bin/bash
# An array of four tasks, one a100 each: counts 5-mers in a genome of its own and keeps the commonest.
#SBATCH --job-name=kmer-array
#SBATCH --array=0-3
#SBATCH --gres=gpu:a100:1
#SBATCH --cpus-per-task=1
#SBATCH --mem=512M
#SBATCH --time=5
#SBATCH --output=%x-%A_%a.out
set -euo pipefail
echo "task $SLURM_ARRAY_TASK_ID of job $SLURM_ARRAY_JOB_ID on $(hostname), GPU ${SLURM_JOB_GPUS:-none}"

awk -v seed="10$SLURM_ARRAY_TASK_ID" -v bases=2500000 'BEGIN {
    srand(seed); window = ""
    for (at = 0; at < bases; at++) {
        window = substr(window substr("ACGT", 1 + int(rand() * 4), 1), at < 5 ? 1 : 2)
        if (length(window) == 5) count[window]++
    }
    for (kmer in count) print count[kmer], kmer
}' | sort -k1,1nr -k2 | awk 'NR <= 5' | tee "kmers-$SLURM_ARRAY_TASK_ID.txt"
