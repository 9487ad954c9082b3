"""Files that options name: ``--nodefile``, ``--bbf``, ``--export-file``, a ``--nodelist`` with a slash.

Pure: what a file holds is in `SubmitContext.files`, by the path as it was written. A path that isn't there is
asked for by `FileWanted`; whoever has it reads the file and parses again.
"""

from __future__ import annotations

import re
from typing import Final

from bridge.sbatch import nodes
from bridge.sbatch.draft import Draft
from bridge.sbatch.refusal import BAD_OPTION, BAD_REQUEST, Refusal, bad_number

_COMMENT: Final = re.compile(r"#[^\n]*")
_BETWEEN: Final = re.compile(r"[ \t\r\n]+")
_EMPTY: Final = "sbatch: error: Hostlist is empty!"


class FileWanted(Exception):
    """The parser needs what a file holds."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def content(draft: Draft, path: str) -> bytes | None:
    """Return what a file holds; None when it can't be read.

    Raises
    ------
    FileWanted
        Nobody has looked yet.
    """
    if path not in draft.files:
        raise FileWanted(path)
    return draft.files[path]


def node_list(draft: Draft, path: str, *, option: str) -> str:
    """Return the nodes that a file lists, as a node list (slurm_read_hostfile of src/common/read_config.c).

    Raises
    ------
    Refusal
        There is no such file, or it lists none.
    """
    found = content(draft, path)
    complaint = ("sbatch: error: Invalid --nodefile node file",) if option == "nodefile" else ()
    code = BAD_OPTION if option == "nodefile" else BAD_REQUEST
    if found is None:
        missing = f"slurm_allocate_resources error opening file {path}, No such file or directory"
        raise Refusal(f"sbatch: error: {missing}", *complaint, exit_code=code, option=option)
    text = _COMMENT.sub("", found.decode("utf-8", "surrogateescape"))
    names = [name for word in _BETWEEN.split(text) if word for name in nodes.hosts(word)]
    if not names:
        raise Refusal(_EMPTY, *complaint, exit_code=code, option=option)
    return ",".join(names)


def variables(draft: Draft, path: str) -> dict[str, str]:
    """Return the variables of an ``--export-file``: ``NAME=value`` between NUL characters."""
    found = content(draft, path)
    if found is None:
        raise bad_number(f"Could not open user environment file {path}", "export-file")
    pairs = (entry.partition("=") for entry in found.decode("utf-8", "surrogateescape").split("\0"))
    return {name: value for name, equals, value in pairs if name and equals}


def with_burst_buffer(script: bytes, draft: Draft) -> bytes:
    """Put the lines of ``--bbf`` behind the script's first one.

    Raises
    ------
    Refusal
        There is no such file, it is empty, or ``--bb`` is said too.
    """
    if draft.burst_buffer_file is None:
        return script
    if draft.burst_buffer is not None:
        raise bad_number("Cannot specify both --burst-buffer and --bbf", "bbf")
    lines = content(draft, draft.burst_buffer_file)
    if not lines:
        raise bad_number("Invalid --bbf specification", "bbf")
    first, _, rest = script.partition(b"\n")
    return first + b"\n" + lines.removesuffix(b"\n") + b"\n" + rest
