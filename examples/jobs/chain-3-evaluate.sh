#!/bin/bash
# Last of the chain: how wrong is the trained weight? Fails when it isn't near the truth, 0.5.
#SBATCH --job-name=chain-3-evaluate
#SBATCH --gres=gpu:h100:1
#SBATCH --mem=512M
#SBATCH --time=5
#SBATCH --output=%x-%j.out
set -euo pipefail
awk -v weight="$(cat arm/weight.txt)" '
    { miss = $3 - weight * $1 * $2; sum += miss * miss }
    END {
        printf "weight %.4f, root mean square error %.4f\n", weight, sqrt(sum / NR)
        exit (weight < 0.49 || weight > 0.51)
    }' arm/moves.txt
