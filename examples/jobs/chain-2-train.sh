#!/bin/bash
# Second of the chain: fits distance = weight * force * seconds by gradient descent.
#SBATCH --job-name=chain-2-train
#SBATCH --gres=gpu:h100:2
#SBATCH --mem=512M
#SBATCH --time=5
#SBATCH --output=%x-%j.out
set -euo pipefail
rounds='arm/moves.txt arm/moves.txt arm/moves.txt arm/moves.txt'
# shellcheck disable=SC2086 # a list of files
awk '{
    work = $1 * $2
    weight += 0.0005 * work * ($3 - weight * work)
} END { printf "%.4f\n", weight }' $rounds > arm/weight.txt
echo "trained on $(wc -l < arm/moves.txt) moves: weight $(cat arm/weight.txt)"
