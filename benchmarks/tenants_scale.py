"""1,000 tenants of 20 users on the real slurmdbd of a stack: first apply, and a pass with nothing to do.

``./sluice bench tenants_scale --stack NAME`` or ``python benchmarks/tenants_scale.py``. Take a
stack that is thrown away afterwards: the tenants stay. Targets: 180 s and 5 s. Beside the seconds of the
clock are the CPU seconds of each part, which don't depend on what else the machine does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

TENANTS, MEMBERS = int(os.environ.get("SLUICE_BENCH_TENANTS", "1000")), 20
PARTS = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd", "agent", "bridge", "gateway")
CPU_FILES = ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpuacct/cpuacct.usage")


def document(number: int) -> dict[str, str]:
    """Return a tenant's document as the bridge takes it."""
    name = f"s{number:04}"
    tenant = {
        "name": name,
        "weight": 1 + number % 7,
        "members": [{"user": f"{name}u{index:02}"} for index in range(MEMBERS)],
        "flavors": {"h100": {"limit": 1 + number % 8}, "a100": {"limit": 2}},
    }
    return {"file": f"{name}.yaml", "text": json.dumps(tenant)}


def bridge(stack: str, command: str, documents: list[dict[str, str]]) -> tuple[float, int]:
    """Run a command of the bridge; returns seconds and how many steps its plan has."""
    argv = ["docker", "exec", "-i", f"{stack}-bridge", "python", "-m", "bridge.tenants.command"]
    begun = time.monotonic()
    done = subprocess.run(
        [*argv, "--wait", "600", command, "-"],
        input=json.dumps(documents),
        capture_output=True,
        text=True,
        check=False,
    )
    spent = time.monotonic() - begun
    answer = json.loads(done.stdout or "{}")
    if "plan" not in answer:
        raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    return spent, len(answer["plan"])


def cpu_seconds(stack: str) -> dict[str, float]:
    """Read what each part has used since it started."""
    return {part: _cpu_of(f"{stack}-{part}") for part in PARTS}


def _cpu_of(container: str) -> float:
    for path in CPU_FILES:
        read = subprocess.run(
            ["docker", "exec", container, "cat", path], capture_output=True, text=True, check=False
        )
        if read.returncode == 0:
            number = read.stdout.split()[1 if "usage_usec" in read.stdout else 0]
            return int(number) / (1e6 if "usage_usec" in read.stdout else 1e9)
    return 0.0


def main() -> None:
    stack = os.environ.get("SLUICE_STACK", "sluice")
    before = cpu_seconds(stack)
    apply_s, steps = bridge(stack, "apply", [document(number) for number in range(TENANTS)])
    between = cpu_seconds(stack)
    passes = [bridge(stack, "validate", []) for _ in range(3)]
    after = cpu_seconds(stack)
    figures = {
        "tenants": TENANTS,
        "members": MEMBERS,
        "apply_s": round(apply_s, 1),
        "apply_target_s": 180,
        "steps": steps,
        "apply_cpu_s": {part: round(between[part] - before[part], 1) for part in PARTS},
        "no_op_s": round(min(spent for spent, _steps in passes), 2),
        "no_op_target_s": 5,
        "no_op_steps": passes[-1][1],
        "no_op_cpu_s": {part: round((after[part] - between[part]) / len(passes), 2) for part in PARTS},
        "load_average": os.getloadavg()[0],
    }
    print(json.dumps(figures))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
