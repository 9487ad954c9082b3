#!/bin/bash
# First of a chain of three: a robot arm is moved at random; how far it got is written as training data.
#SBATCH --job-name=chain-1-simulate
#SBATCH --gres=gpu:h100:1
#SBATCH --mem=512M
#SBATCH --time=5
#SBATCH --output=%x-%j.out
set -euo pipefail
mkdir -p arm
awk 'BEGIN {
    srand(11)
    for (move = 0; move < 1000000; move++) {
        force = rand() * 10; seconds = rand() * 2
        printf "%.4f %.4f %.4f\n", force, seconds, 0.5 * force * seconds + 0.1 * (rand() - 0.5)
    }
}' > arm/moves.txt
echo "$(wc -l < arm/moves.txt) moves written"
