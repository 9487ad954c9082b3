"""``#PBS`` and ``#BSUB`` lines, as sbatch translates them when it is not told to ignore them.

src/sbatch/xlate.c: the first kind found is read, with an option table of its own; each option becomes one
of sbatch's or is passed over. A fault in them ends sbatch with exit code 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bridge.sbatch.ctext import lower
from bridge.sbatch.draft import Draft
from bridge.sbatch.getopt import Argument, Getopt
from bridge.sbatch.integers import count, strtol
from bridge.sbatch.nodes import distinct, host_list
from bridge.sbatch.refusal import BAD_REQUEST, bad_number
from bridge.sbatch.scan import Word, foreign

Say = Callable[[str, "str | None", Word], None]
"""Says one of sbatch's options: key, value, the word that it comes from."""


@dataclass(frozen=True, slots=True)
class _Foreign:
    """One option of the other system and sbatch's option for it, empty when it is passed over."""

    name: str
    short: str
    argument: Argument
    to: str = ""

    @property
    def key(self) -> str:
        return self.short


_N, _R, _O = Argument.NONE, Argument.REQUIRED, Argument.OPTIONAL
_ADVICE: Final = "sbatch: error: Unrecognized command line parameter ?"

_PBS: Final = Getopt(
    (
        *(_Foreign("start_time", "a", _R, "begin"), _Foreign("account", "A", _R, "account")),
        *(_Foreign("checkpoint", "c", _R), _Foreign("working_dir", "C", _R), _Foreign("", "d", _R, "chdir")),
        *(_Foreign("error", "e", _R, "error"), _Foreign("hold", "h", _N, "hold")),
        *(
            _Foreign("interactive", "I", _N),
            _Foreign("join", "j", _R),
            _Foreign("job_array", "J", _R, "array"),
        ),
        *(_Foreign("keep", "k", _R), _Foreign("resource_list", "l", _R), _Foreign("mail_options", "m", _R)),
        *(_Foreign("mail_user_list", "M", _R, "mail-user"), _Foreign("job_name", "N", _R, "job-name")),
        *(_Foreign("out", "o", _R, "output"), _Foreign("priority", "p", _R, "nice")),
        *(_Foreign("destination", "q", _R, "partition"), _Foreign("rerunable", "r", _R)),
        *(_Foreign("script_path", "S", _R), _Foreign("array", "t", _R, "array")),
        *(
            _Foreign("running_user", "u", _R),
            _Foreign("variable_list", "v", _R),
            _Foreign("all_env", "V", _N),
        ),
        *(_Foreign("attributes", "W", _R), _Foreign("", "w", _R, "chdir"), _Foreign("no_std", "z", _N)),
    ),
    advice=_ADVICE,
    exit_code=BAD_REQUEST,
)
_BSUB: Final = Getopt(
    (
        *(_Foreign("cwd", "c", _R, "chdir"), _Foreign("error_file", "e", _R, "error")),
        *(_Foreign("job_name", "J", _R, "job-name"), _Foreign("hostname", "m", _R, "nodelist")),
        *(_Foreign("memory_limit", "M", _R, "mem-per-cpu"), _Foreign("", "n", _R, "ntasks")),
        *(_Foreign("output_file", "o", _R, "output"), _Foreign("queue_name", "q", _R, "partition")),
        *(_Foreign("time", "W", _R, "time"), _Foreign("exclusive", "x", _N, "exclusive")),
    ),
    advice=_ADVICE,
    exit_code=BAD_REQUEST,
)


def translate(script: bytes, file: str, draft: Draft, say: Say) -> None:
    """Read the other system's lines of a script and say them as sbatch's options.

    Raises
    ------
    Refusal
        A fault in them, in sbatch's words.
    """
    words = foreign(script, b"#BSUB", file)
    if words is not None:
        _all_read(words, _BSUB.read(_long_names(words), lambda o, v, w: _bsub(o, v, w, say=say)))
        return
    words = foreign(script, b"#PBS", file)
    if words is not None:
        _all_read(words, _PBS.read(words, lambda o, v, w: _pbs(o, v, w, draft=draft, say=say)))


def _all_read(words: tuple[Word, ...], at: int) -> None:
    if at < len(words):
        raise bad_number(f"Invalid argument: {words[at].text}")


def _long_names(words: tuple[Word, ...]) -> list[Word]:
    """``-cwd`` in an option's place (every other word) is ``-c``."""
    return [
        Word("-c", word.line, word.column) if word.text == "-cwd" and at % 2 == 0 else word
        for at, word in enumerate(words)
    ]


def _bsub(option: _Foreign, value: str | None, word: Word, *, say: Say) -> None:
    text = value or ""
    match option.short:
        case "m":
            text = text.replace(" ", ",")
        case "M" if text[-1:].isdigit():
            text = f"{text}K"
        case "n" if "," in text:
            text = text.partition(",")[2]
            if not text:
                raise bad_number(f"#BSUB -n format not correct given: '{value}'", "ntasks")
    say(option.to, None if option.argument is _N else text, word)


def _pbs(option: _Foreign, value: str | None, word: Word, *, draft: Draft, say: Say) -> None:
    text = value or ""
    match option.short:
        case "l":
            _resources(text, word, draft=draft, say=say)
        case "m":
            say("mail-type", _mail(text), word)
        case "v":
            say("export", f"{draft.export},{text}" if draft.export else text, word)
        case "W" if lower(text).startswith("umask="):
            say("umask", text[6:], word)
        case "W" if lower(text).startswith("depend="):
            say("dependency", text[7:], word)
        case _ if option.to:
            say(option.to, None if option.argument is _N else text, word)


def _mail(text: str) -> str:
    letters = lower(text)
    if "n" in letters:
        return "NONE"
    return ",".join(
        name for letter, name in (("b", "BEGIN"), ("e", "END"), ("a", "FAIL")) if letter in letters
    )


_RESOURCE = re.compile(
    r"(?i:(accelerator|mpiprocs|naccelerators|ncpus|select))=|(arch|cput|file|host|mem|nice|nodes|opsys|other|pcput"
    r"|pmem|proc|pvmem|software|vmem|walltime)="
)
_PLAIN_RESOURCES: Final = {
    "cput": "time",
    "pcput": "time",
    "walltime": "time",
    "file": "tmp",
    "mem": "mem",
    "nice": "nice",
    "mpiprocs": "ntasks-per-node",
    "ncpus": "mincpus",
    "select": "nodes",
}
_PRO: Final = {"select", "ncpus", "mpiprocs"}


def _resources(text: str, word: Word, *, draft: Draft, say: Say) -> None:
    """Read ``-l``: ``nodes=2:ppn=4,walltime=1:00:00`` and PBS Pro's ``select=2:ncpus=8``."""
    at = gpus = 0
    pro: set[str] = set()
    while at < len(text):
        match = _RESOURCE.match(text, at)
        if match is None:
            at += 1
            continue
        name = lower(match.group(1) or match.group(2))
        mark = ":" if name in _PRO else ","
        value, _, rest = text[match.end() :].partition(mark)
        at = len(text) - len(rest)
        pro |= {name} & _PRO
        if name == "accelerator":
            gpus, at = max(gpus, int(lower(value).startswith("true"))), match.end()
        elif name == "naccelerators":
            gpus = count(value, "naccelerators", positive=True, option="gres")
        else:
            _resource(name, value, word, draft=draft, say=say)
        if name == "proc":  # sbatch passes over the entry that follows
            at += len(rest.partition(",")[0]) + 1
    if pro == _PRO and (draft.mincpus or -1) > (draft.ntasks_per_node or 0) > 0:
        say("cpus-per-task", str((draft.mincpus or 0) // (draft.ntasks_per_node or 1)), word)
    if gpus:
        say("gres", f"{draft.gres},gpu:{gpus}" if draft.gres else f"gpu:{gpus}", word)


def _resource(name: str, value: str, word: Word, *, draft: Draft, say: Say) -> None:
    if name in ("file", "mem"):
        value = value[:-1] if lower(value[-1:]) == "b" else value
    if name == "nodes":
        _nodes(value, word, say)
    elif name == "proc":
        say("constraint", f"{value},{draft.features}" if draft.features else value, word)
    elif name in _PLAIN_RESOURCES:
        say(_PLAIN_RESOURCES[name], value, word)


def _nodes(text: str, word: Word, say: Say) -> None:
    """Read ``nodes=``: counts, host names, ``ppn=`` and ``gpus=``, joined by ``:`` and ``+``."""
    wanted = per_node = 0
    hosts: list[str] = []
    for part in filter(None, re.split(r"[:+]", text)):
        kind, equals, value = part.partition("=")
        if equals and kind == "gpus":
            say("gpus-per-node", value, word)
        elif equals and kind == "ppn":
            per_node += strtol(value)[0]
        elif part[0].isdigit():
            wanted += strtol(part)[0]
        elif part[0].isalpha():
            hosts.append(part)
    if wanted:
        say("nodes", str(wanted), word)
    if per_node:
        say("ntasks", str(per_node * (wanted or 1)), word)
    if hosts:
        say("nodelist", host_list(distinct(hosts)), word)
