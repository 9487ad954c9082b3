#!/bin/bash
# A job that fails, as jobs do: its input isn't there, and it says so with exit code 7.
#SBATCH --job-name=missing-input
#SBATCH --gres=gpu:a100:1
#SBATCH --mem=256M
#SBATCH --time=5
#SBATCH --output=%x-%j.out
reads=samples/patient-12.fastq
for try in 1 2 3; do # a shared folder may show a new file late
    [ -r "$reads" ] && exec wc -l "$reads"
    echo "try $try: no $reads"
    sleep 1
done
echo "fetch the samples first" >&2
exit 7
