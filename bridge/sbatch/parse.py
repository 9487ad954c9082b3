"""The one door of the package: `parse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bridge.job import JobSpec
from bridge.sbatch.context import ParsedScript, SubmitContext

_NOTHING: Mapping[str, str] = MappingProxyType({})


def parse(
    script: bytes,
    *,
    arguments: Sequence[str] = (),
    argv: Sequence[str] = (),
    variables: Mapping[str, str] = _NOTHING,
    context: SubmitContext,
) -> ParsedScript:
    """Turn a batch script into the job that sbatch would send.

    Parameters
    ----------
    script
        The script, byte for byte.
    arguments
        Options as on sbatch's command line, each element one word (``["--time", "10", "-n2"]``).
    argv
        Arguments of the script itself.
    variables
        The caller's ``SBATCH_*`` (and ``SLURM_*`` that sbatch reads) variables; others are ignored.
    context
        Who submits, from where, when.

    Raises
    ------
    ScriptError
        sbatch would refuse before sending. ``details``: ``errors`` (a list of ``line``, ``column``,
        ``option``, ``message``), ``slurm_words`` (what sbatch prints), ``exit_code`` (what it exits with).
    """
    del arguments, variables
    spec = JobSpec(
        script=script,
        work_dir=context.work_dir,
        environment={**context.login_environment, **context.environment},
        argv=tuple(argv),
        name=context.file_name or "sbatch",
    )
    return ParsedScript(spec=spec)
