"""The folders of one pod: what is there, and putting new contents in place.

Each file is written beside and renamed. job_submit.lua comes last and gets a new mtime with any change of
the rules: slurmctld loads again only then (see `bridge.tenants.policy_files`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bridge.tenants.published import POLICY_FILES, USER_FILES, etag
from bridge.tenants.source import replace_file

SCRIPT: Final = "job_submit.lua"
MODES: Final = {"shadow": 0o600}


class Folders:
    """Where a pod keeps users, and (slurmctld alone) the rules."""

    def __init__(self, *, users_dir: Path | None, policy_dir: Path | None) -> None:
        self._paths: dict[str, Path] = {}
        if users_dir is not None:
            self._paths |= {name: users_dir / name for name in USER_FILES}
        if policy_dir is not None:
            self._paths |= {name: policy_dir / name for name in POLICY_FILES}

    def have(self) -> dict[str, str]:
        """Return the ETags of what is there, "" for what is missing."""
        return {name: _etag(path) for name, path in self._paths.items()}

    def put(self, contents: Mapping[str, bytes]) -> tuple[str, ...]:
        """Put new contents in place; returns the names that changed."""
        changed = [
            name
            for name, path in self._paths.items()
            if name in contents and name != SCRIPT and _replace(path, contents[name])
        ]
        script = self._paths.get(SCRIPT)
        if script is not None and (SCRIPT in contents or any(name in POLICY_FILES for name in changed)):
            data = contents[SCRIPT] if SCRIPT in contents else _data(script)
            if data is not None:
                before = int(script.stat().st_mtime) if script.exists() else 0
                _replace(script, data)
                moment = max(int(time.time()), before + 1)
                os.utime(script, (moment, moment))
                changed.append(SCRIPT)
        return tuple(changed)


def _replace(path: Path, data: bytes) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    return replace_file(path, data, mode=MODES.get(path.name, 0o644))


def _data(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _etag(path: Path) -> str:
    data = _data(path)
    return "" if data is None else etag(data)
