"""Parsl: a pilot job with a GPU, functions in it."""

import parsl
from parsl.addresses import address_by_interface
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SimpleLauncher
from parsl.providers import SlurmProvider


@parsl.python_app
def power(number: int, exponent: int) -> int:
    return number**exponent


@parsl.python_app
def host() -> str:
    import socket

    return socket.gethostname()


if __name__ == "__main__":
    provider = SlurmProvider(
        init_blocks=1,
        max_blocks=1,
        nodes_per_block=1,
        cores_per_node=1,
        mem_per_node=1,
        walltime="00:20:00",
        launcher=SimpleLauncher(),
        scheduler_options="#SBATCH --gres=gpu:h100:1",
        cmd_timeout=60,
    )
    pool = HighThroughputExecutor(
        label="pool", address=address_by_interface("eth0"), max_workers_per_node=1, provider=provider
    )
    with parsl.load(Config(executors=[pool], run_dir="parsl-runs", strategy="none")):
        print("powers", [power(number, 2).result() for number in range(4)], host().result())
