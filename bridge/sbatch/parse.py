"""The one door of the package: `parse`.

For each component: script, then variables, then arguments are said to a draft, each later one over the
earlier ones; then the draft is settled and built (`bridge.sbatch.components`). Faults come out as
`ScriptError`, the first that sbatch would name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from bridge.errors import ScriptError
from bridge.sbatch import body
from bridge.sbatch.components import Components
from bridge.sbatch.context import ClientOptions, ParsedScript, SubmitContext
from bridge.sbatch.draft import Draft
from bridge.sbatch.refusal import BAD_REQUEST, Refusal, Unsupported, bad_number
from bridge.sbatch.say import Speaker
from bridge.sbatch.scan import Word
from bridge.sbatch.site import getopt

_PREFIX: Final = re.compile(r"^sbatch: (?:error: |fatal: |warning: )?")
_NO_ERRORS: Final = 2
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def parse(
    script: bytes,
    *,
    arguments: Sequence[str] = (),
    argv: Sequence[str] = (),
    variables: Mapping[str, str] = _NOTHING,
    context: SubmitContext,
) -> ParsedScript:
    """Turn a batch script into the job, or the components of the heterogeneous job, that sbatch would send.

    Parameters
    ----------
    script
        The script, byte for byte; empty with a ``--wrap`` among the arguments.
    arguments
        Options as on sbatch's command line, each element one word (``["--time", "10", "-n2"]``); a lone
        ``:`` begins another component.
    argv
        Arguments of the script itself.
    variables
        The caller's ``SBATCH_*`` (and ``SLURM_*`` that sbatch reads) variables; others are ignored.
    context
        Who submits, from where, when.

    Raises
    ------
    FileWanted
        An option names a file that the context has not looked for.
    ScriptError
        sbatch would refuse before sending, or an option can't be carried. ``details``: ``errors`` (a list
        of ``line``, ``column``, ``option``, ``message``), ``slurm_words`` (what sbatch prints),
        ``exit_code`` (what it exits with).
    """
    draft = Draft(
        work_dir=context.work_dir,
        planesize=variables.get("SLURM_DIST_PLANESIZE", ""),
        now=context.now,
        files=context.files,
    )
    speaker = Speaker(draft, getopt(context.site_options))
    try:
        return _parse(script, tuple(arguments), tuple(argv), variables, context=context, speaker=speaker)
    except Refusal as refusal:
        raise _script_error(refusal, speaker) from None


def _parse(
    script: bytes,
    arguments: tuple[str, ...],
    argv: tuple[str, ...],
    variables: Mapping[str, str],
    *,
    context: SubmitContext,
    speaker: Speaker,
) -> ParsedScript:
    draft = speaker.draft
    words = tuple(Word(text) for text in arguments)
    speaker.variables(variables, early=True)
    # Where the arguments' components begin matters later; a first look at all of them passes over that.
    flat = tuple(word for word in words if word.text != ":")
    end = speaker.first_pass(flat)
    if end < len(flat):
        raise Refusal(f"sbatch: error: Unable to open file {flat[end].text}", exit_code=BAD_REQUEST)
    if draft.external:
        _check_external(draft, script, argv)
    elif draft.wrap is None:
        body.check(script)
    elif script or argv:
        raise _with_wrap()
    else:
        script = body.wrapped(draft.wrap)
    components = Components(script, words, variables, context=context, speaker=speaker)
    return ParsedScript(
        specs=components.specs(argv),
        origins_of=tuple(components.origins),
        overruled=frozenset(set(draft.origins) - set().union(*components.origins)),
        warnings=tuple(map(_sentence, draft.warnings)),
        client=_client(draft),
    )


def _check_external(draft: Draft, script: bytes, argv: tuple[str, ...]) -> None:
    if draft.wrap is not None:
        raise bad_number("--wrap option not permitted with --external option", "external")
    if script or argv:
        raise bad_number("Script arguments not permitted with --external option", "external")


def _with_wrap() -> Refusal:
    return Refusal(
        "sbatch: error: Script arguments not permitted with --wrap option",
        exit_code=BAD_REQUEST,
        option="wrap",
    )


def _client(draft: Draft) -> ClientOptions:
    return ClientOptions(
        test_only=draft.test_only,
        wait=draft.wait,
        parsable=draft.parsable,
        quiet=bool(draft.quiet),
        verbose=draft.verbose,
    )


def _script_error(refusal: Refusal, speaker: Speaker) -> ScriptError:
    """Say where the fault is: the word being read, else where the option was last said."""
    said = [option for option in refusal.among if option in speaker.draft.said]
    if refusal.option is None and len(said) == 1:
        refusal.option = said[0]
    line, column, written = speaker.place(refusal)
    words = "\n".join(_shown((*speaker.draft.warnings, *refusal.words), speaker.draft))
    reason = " ".join(map(_sentence, refusal.words))
    where = f"line {line}, column {column}: " if line is not None else ""
    about = f"{written}: " if written and written not in reason else ""
    return ScriptError(
        f"{where}{about}{reason}",
        errors=[{"line": line, "column": column, "option": refusal.option, "message": reason}],
        slurm_words=None if isinstance(refusal, Unsupported) else words,
        exit_code=refusal.exit_code,
    )


def _shown(words: tuple[str, ...], draft: Draft) -> Iterator[str]:
    """Yield what sbatch prints: ``-QQ`` keeps its errors back, ``-QQQ`` its last words too."""
    hushed = draft.quiet - draft.verbose
    for line in words:
        if hushed >= _NO_ERRORS and line.startswith("sbatch: error: "):
            continue
        if hushed > _NO_ERRORS and line.startswith("sbatch: fatal: "):
            continue
        yield line


def _sentence(line: str) -> str:
    """Take sbatch's prefixes off a line."""
    return _PREFIX.sub("", line)
