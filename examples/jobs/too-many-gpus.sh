#!/bin/bash
# A job that is refused: its tenant (genomics) may use two h100 at most. See examples/tenants/genomics.yaml.
#SBATCH --job-name=too-many-gpus
#SBATCH --gres=gpu:h100:4
#SBATCH --mem=256M
#SBATCH --time=5
echo "this never runs"
