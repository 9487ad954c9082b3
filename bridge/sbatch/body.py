"""What sbatch checks of a script's bytes before it reads a word of it.

_get_script_buffer() of src/sbatch/sbatch.c: empty, only blanks, no ``#!``, NUL bytes, DOS line ends. The
limit of 4 MiB is slurmctld's (max_script_size, its default), judged here because nothing larger need travel.
"""

from __future__ import annotations

from typing import Final

from bridge.sbatch.ctext import SPACE
from bridge.sbatch.refusal import BAD_REQUEST, Refusal

LARGEST_BYTES: Final = 4 * 1024 * 1024

_NO_SHEBANG: Final = (
    "sbatch: error: This does not look like a batch script.  The first",
    "sbatch: error: line must start with #! followed by the path to an interpreter.",
    "sbatch: error: For instance: #!/bin/sh",
)
_NUL: Final = (
    "sbatch: error: The Slurm controller does not allow scripts that",
    "sbatch: error: contain a NULL character '\\0'.",
)
_DOS: Final = (
    "sbatch: error: Batch script contains DOS line breaks (\\r\\n)",
    "sbatch: error: instead of expected UNIX line breaks (\\n).",
)
_TOO_LARGE: Final = (
    "sbatch: error: Batch job submission failed: Pathname of a file, directory or other parameter too long",
)


def check(script: bytes) -> None:
    """Do nothing for a script that sbatch would read.

    Raises
    ------
    Refusal
        In sbatch's words (slurmctld's for one that is too large).
    """
    words: tuple[str, ...] = ()
    if not script:
        words = ("sbatch: error: Batch script is empty!",)
    elif not script.partition(b"\0")[0].strip(SPACE.encode()):
        words = ("sbatch: error: Batch script contains only whitespace!",)
    elif not script.startswith(b"#!"):
        words = _NO_SHEBANG
    elif b"\0" in script:
        words = _NUL
    elif b"\r\n" in script:
        words = _DOS
    elif len(script) > LARGEST_BYTES:
        words = _TOO_LARGE
    if words:
        raise Refusal(*words, exit_code=BAD_REQUEST)


def wrapped(command: str) -> bytes:
    """Return the script that ``--wrap`` makes of a command."""
    text = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n"
    return text.encode("utf-8", "surrogateescape")
