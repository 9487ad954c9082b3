"""A batch script, its arguments and the caller's ``SBATCH_*`` variables become one `JobSpec`.

Pure: no I/O, no clock (`SubmitContext.now`), no environment of this process. In flows what a user gave;
out flows what sbatch would send to slurmctld, or a `ScriptError` with sbatch's own words. What only
slurmctld can know (does the partition exist, do the nodes fit) does not belong here.
"""

from __future__ import annotations

from bridge.sbatch.attachments import FileWanted
from bridge.sbatch.context import Origin, ParsedScript, SubmitContext
from bridge.sbatch.hints import Hint, hints
from bridge.sbatch.parse import parse
from bridge.sbatch.site import SiteOption

__all__ = ["FileWanted", "Hint", "Origin", "ParsedScript", "SiteOption", "SubmitContext", "hints", "parse"]
