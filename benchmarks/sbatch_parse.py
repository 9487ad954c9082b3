"""How long reading a script takes: ``python benchmarks/sbatch_parse.py``. Targets: 200 us and 50 ms."""

from __future__ import annotations

import timeit
from datetime import UTC, datetime

from bridge.sbatch import SubmitContext, parse

TYPICAL = b"""#!/bin/bash
#SBATCH --job-name=train-llm       # a comment
#SBATCH --account=astro --partition=h100
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=h100:4
#SBATCH --cpus-per-task=8
#SBATCH --mem=200G
#SBATCH --time=1-12:00:00
#SBATCH --output=logs/%x-%j.out
#SBATCH --mail-type=END,FAIL --mail-user=pi@example.org

module load cuda
srun python train.py --config big.yaml
"""
LONG = TYPICAL + b"echo one more line of work\n" * (4 * 1024 * 1024 // 27 - 40)
COMMENTS = b"#!/bin/bash\n" + b"# a line of remarks\n" * (4 * 1024 * 1024 // 20 - 10)


def main() -> None:
    context = SubmitContext(
        user="ada",
        home="/home/ada",
        work_dir="/home/ada",
        host="login",
        now=datetime.now(UTC),
        login_environment={"HOME": "/home/ada", "PATH": "/usr/bin"},
        file_name="train.sh",
    )
    for name, script, times in (
        ("typical", TYPICAL, 2000),
        ("4 MiB of work", LONG, 5),
        ("4 MiB of #", COMMENTS, 5),
    ):
        best = min(timeit.repeat(lambda s=script: parse(s, context=context), number=times, repeat=3)) / times
        print(f"{name:15} {best * 1e6:10.0f} us")


if __name__ == "__main__":
    main()
