"""Which of Slurm's own commands are run on behalf of a user of HTTP, and with which words. Pure.

In: a command line as the user gave it. Out: the words that are run. They are read here as getopt reads them
and written anew, so that what was judged is what runs. The command speaks to Slurm with the user's token,
so that Slurm decides what is shown and done; but its process is SlurmUser's, so that an option which reads
or writes a file, runs for ever, or makes a token is refused, and "me" is said by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bridge.errors import InputError
from bridge.sbatch.getopt import Argument, Getopt
from bridge.sbatch.refusal import Refusal
from bridge.sbatch.scan import Word

_LONGEST: Final = 128 * 1024
"""Bytes of all words together: the most that Linux takes as one of a process's words."""
_ARGUMENTS: Final = {"=": Argument.REQUIRED, "?": Argument.OPTIONAL}
_SHOW: Final = ("show", "list")


@dataclass(frozen=True, slots=True)
class Row:
    """One option of a command; options with one short letter mean the same."""

    name: str
    short: str
    argument: Argument

    @property
    def key(self) -> str:
        """The option's name inside."""
        return self.short or self.name


@dataclass(frozen=True, slots=True)
class Said:
    """A command line, read."""

    options: list[tuple[str, str | None]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """Whether one of the options was said."""
        return any(name in names for name, _ in self.options)

    def take(self, name: str) -> bool:
        """Take an option out; return whether it was there."""
        kept = [pair for pair in self.options if pair[0] != name]
        found = len(kept) < len(self.options)
        self.options[:] = kept
        return found


Judge = Callable[[Said, str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its options, those that are refused, and what else is judged."""

    getopt: Getopt[Row]
    refused: frozenset[str] = frozenset()
    judge: Judge | None = None


def admitted(words: Sequence[str], user: str) -> list[str]:
    """Return what is run for `words`, which begin with the command's name.

    Raises
    ------
    InputError
        A command, an option or a word of it that isn't run over HTTP.
    """
    if not words or words[0] not in COMMANDS:
        raise InputError(f"{words[0] if words else ''!r} is not one of {', '.join(COMMANDS)}")
    if any("\0" in word for word in words) or sum(map(len, words)) > _LONGEST:
        raise InputError(f"{words[0]}: a NUL character, or more than {_LONGEST} characters, in its words")
    name, command = words[0], COMMANDS[words[0]]
    said = _read(command, words[1:])
    for option, _ in said.options:
        if option in command.refused:
            raise InputError(f"{name}: --{option} is not taken over HTTP", option=option)
    if command.judge is not None:
        command.judge(said, user)
    options = [f"--{option}" if value is None else f"--{option}={value}" for option, value in said.options]
    return [name, *options, *(["--", *said.words] if said.words else [])]


def _read(command: Command, words: Sequence[str]) -> Said:
    said = Said()

    def take(row: Row, value: str | None, _word: Word) -> None:
        said.options.append((row.name, value))

    border = words.index("--") if "--" in words else len(words)
    read = [Word(word) for word in words[:border]]
    at = 0
    while at < len(read):  # these commands let options and words stand in any order
        try:
            at += command.getopt.read(read[at:], take)
        except Refusal as refusal:
            raise InputError("\n".join(filter(None, refusal.words))) from None
        if at < len(read):
            said.words.append(read[at].text)
            at += 1
    said.words.extend(words[border + 1 :])
    return said


def _squeue(said: Said, user: str) -> None:
    if said.take("me"):
        said.options.append(("users", user))


def _sacct(said: Said, user: str) -> None:
    # As for anybody who is not root: one's own jobs, unless jobs or users are named.
    if not said.has("allusers", "uid", "user", "jobs"):
        said.options.append(("user", user))


def _scancel(said: Said, user: str) -> None:
    if said.take("me"):
        said.options.append(("user", user))


def _sshare(said: Said, user: str) -> None:
    if not said.has("all", "users"):
        said.options.append(("users", user))


def _sacctmgr(said: Said, _user: str) -> None:
    if not said.words or said.words[0].lower() not in _SHOW:
        raise InputError("sacctmgr: over HTTP it only shows; sluice tenants changes accounts")


def _sbatch(said: Said, _user: str) -> None:
    if said.words:
        raise InputError("sbatch: scripts are submitted by POST /v1/jobs")


_SCONTROL: Final = frozenset(
    (
        *("show", "hold", "uhold", "holdu", "release", "requeue", "requeuehold", "suspend", "resume"),
        *("top", "update", "ping", "version", "help"),
    )
)
_SCONTROL_SHOWS: Final = frozenset(
    (
        *("job", "jobs", "step", "steps", "node", "nodes", "partition", "partitions", "config", "hostname"),
        *("hostnames", "hostlist", "hostlistsorted", "license", "licenses", "reservation", "reservations"),
        *("topology", "burstbuffer", "federation", "features", "assoc_mgr"),
    )
)


def _scontrol(said: Said, _user: str) -> None:
    if not said.words and said.has("version", "help", "usage"):
        return
    verb = said.words[0].lower() if said.words else ""
    if verb not in _SCONTROL:
        raise InputError(
            f"scontrol: {verb or 'no command'}: over HTTP there are {', '.join(sorted(_SCONTROL))}"
        )
    if verb == "show":
        what = said.words[1].lower() if len(said.words) > 1 else ""
        if what.partition("=")[0].partition(" ")[0] not in _SCONTROL_SHOWS:
            raise InputError(f"scontrol show: {what or 'nothing'}: over HTTP there are {_listed()}")
        if what.startswith("host") and any(word.lstrip().startswith("/") for word in said.words[2:]):
            raise InputError("scontrol: a file with host names can't be read over HTTP; name the hosts")


def _listed() -> str:
    return ", ".join(sorted(_SCONTROL_SHOWS))


def _table(program: str, text: str) -> Getopt[Row]:
    """Read a table of options: ``name``, then ``=`` or ``?`` for a value, then ``/`` and a short letter."""
    rows = []
    for entry in text.split():
        written, _, short = entry.partition("/")
        name = written.rstrip("=?")
        rows.append(Row(name, short, _ARGUMENTS.get(written[len(name) :], Argument.NONE)))
    # sacct alone says no more than getopt does.
    advice = "" if program == "sacct" else f'Try "{program} --help" for more information'
    return Getopt(rows, advice=advice, program=program)


_EVERY: Final = " help usage verbose/v version/V"

COMMANDS: Final[Mapping[str, Command]] = {
    "squeue": Command(
        _table(
            "squeue",
            "account=/A accounts=/A all/a array/r array-unique expand-patterns federation format=/o Format=/O"
            " helpFormat helpformat helpstate hide iterate=/i jobs?/j json? licenses=/L local long/l me"
            " cluster=/M clusters=/M name=/n names=/n noconvert nodelist=/w nodes=/w noheader/h notme"
            " only-job-state partition=/p priority/P qos=/q reservation=/R running-over= running-under="
            " sib sibling sort=/S start states=/t steps?/s user=/u users=/u yaml?" + _EVERY,
        ),
        frozenset({"iterate"}),
        _squeue,
    ),
    "sacct": Command(
        _table(
            "sacct",
            "accounts=/A allclusters/L allocations/X allusers/a array associations=/x batch-script/B brief/b"
            " cluster=/M clusters=/M completion/c constraints=/C delimiter= duplicates/D endtime=/E env-vars"
            " expand-patterns federation file=/f flags=/F format=/o gid=/g group=/g helpformat/e helpreason"
            " help-fields/e helpstate jobs=/j json? local long/l name= ncpus=/I nnodes=/i noconvert"
            " nodelist=/N noheader/n parsable/p parsable2/P partition=/r qos=/q reason=/R starttime=/S"
            " state=/s timelimit-max=/K timelimit-min=/k truncate/T uid=/u units= user=/u"
            " wckeys=/W whole-hetjob? yaml? help/h usage verbose/v version/V",
        ),
        frozenset({"file", "completion"}),
        _sacct,
    ),
    "scancel": Command(
        _table(
            "scancel",
            "account=/A admin-comment= batch/b cluster=/M clusters=/M cron/c ctld full/f hurry/H"
            " interactive/i jobname=/n name=/n me nodelist=/w partition=/p qos=/q quiet/Q reservation=/R"
            " sibling= signal=/s state=/t user=/u wckey=" + _EVERY,
        ),
        frozenset({"interactive"}),
        _scancel,
    ),
    "sinfo": Command(
        _table(
            "sinfo",
            "all/a cluster=/M clusters=/M dead/d exact/e federation format=/o Format=/O future/F helpFormat"
            " helpformat helpstate hide iterate=/i json? list-reasons/R local long/l noconvert Node/N"
            " nodes=/n noheader/h partition=/p reservation/T responding/r sort=/S states=/t summarize/s"
            " yaml?" + _EVERY,
        ),
        frozenset({"iterate"}),
    ),
    "scontrol": Command(
        _table(
            "scontrol",
            "all/a cluster=/M clusters=/M details/d federation future/F hide json? local oneliner/o quiet/Q"
            " sibling uid=/u yaml? help/h usage verbose/v version/V",
        ),
        frozenset({"uid"}),
        _scontrol,
    ),
    "sshare": Command(
        _table(
            "sshare",
            "Users/U accounts=/A all/a cluster=/M clusters=/M format=/o helpformat/e json? long/l noheader/n"
            " parsable/p parsable2/P partition/m users=/u yaml?" + _EVERY,
        ),
        judge=_sshare,
    ),
    "sprio": Command(
        _table(
            "sprio",
            "cluster=/M clusters=/M federation format=/o helpformat jobs?/j local long/l noheader/h norm/n"
            " partition=/p sib sibling sort=/S user=/u users=/u weights/w" + _EVERY,
        )
    ),
    "sacctmgr": Command(
        _table(
            "sacctmgr",
            "associations/s help/h immediate/i json? noheader/n oneliner/o parsable/p parsable2/P quiet/Q"
            " readonly/r usage verbose/v version/V yaml?",
        ),
        judge=_sacctmgr,
    ),
    "sbatch": Command(_table("sbatch", "help/h usage version/V"), judge=_sbatch),
}
"""What may be run; ``sbatch`` only tells about itself."""
