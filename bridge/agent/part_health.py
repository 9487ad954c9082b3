"""Asking all parts of Slurm at once whether they are well, none for longer than a few seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from bridge.errors import SluiceError
from bridge.slurm.port import PartHealth


def ask_all(
    asking: ThreadPoolExecutor, checks: Mapping[str, Callable[[], object]], longest_s: float
) -> tuple[PartHealth, ...]:
    """Run the checks, each of which may raise or return words; returns one answer a part, in order."""
    asked = {part: asking.submit(check) for part, check in checks.items()}
    found = []
    for part, answer in asked.items():
        try:
            detail = answer.result(timeout=longest_s + 1)
        except SluiceError as error:
            found.append(PartHealth(part=part, healthy=False, detail=error.message))
        except TimeoutError:
            sentence = f"no answer within {longest_s:g} s"
            found.append(PartHealth(part=part, healthy=False, detail=sentence))
        else:
            words = detail if isinstance(detail, str) else ""
            found.append(PartHealth(part=part, healthy=True, detail=words))
    return tuple(found)
