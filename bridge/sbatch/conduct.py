"""Grammars of how a job is treated: mail, signals, priority, requeue, profiling, limits.

Functions as `bridge.sbatch.grammar` describes; each stands for an arg_set_* of src/common/slurm_opt.c.
"""

from __future__ import annotations

from typing import Final

from bridge.sbatch import mail, signals, times
from bridge.sbatch.ctext import lower, tokens
from bridge.sbatch.draft import Draft
from bridge.sbatch.integers import any_base, count, int32, strtol, uint16
from bridge.sbatch.options import Option
from bridge.sbatch.refusal import Refusal, bad_option, invalid

_UINT16: Final = 0xFFFF
_NICE_LIMIT: Final = 0x80000000 - 3
_PRIORITY_TOP: Final = 0xFFFFFFFE - 1
_PROFILES: Final = ("energy", "task", "lustre", "network")


def mail_type(draft: Draft, option: Option, text: str | None) -> None:
    """Set the events that send mail."""
    events = mail.events(text or "")
    if events is None:
        raise invalid(option.name)
    draft.mail_type = events


def signal(draft: Draft, option: Option, text: str | None) -> None:
    """Set the signal before the end; flags of an earlier one stay."""
    ahead = signals.signal_ahead(text or "")
    if ahead is None:
        raise invalid(option.name)
    draft.signal = ahead.and_flags_of(draft.signal)


def nice(draft: Draft, option: Option, text: str | None) -> None:
    """Lower the priority."""
    value = strtol(text)[0] if text else 100
    if abs(value) > _NICE_LIMIT:
        raise bad_option(f"Invalid --nice value, out of range (+/- {_NICE_LIMIT})", option=option.key)
    draft.nice = int32(value)


def priority(draft: Draft, option: Option, text: str | None) -> None:
    """Set the priority."""
    value = _PRIORITY_TOP if lower(text or "") == "top" else strtol(text or "")[0]
    if value < 0:
        raise bad_option("Priority must be >= 0", option=option.key)
    if value > _PRIORITY_TOP:
        raise bad_option(f"Priority must be < {_PRIORITY_TOP + 1}", option=option.key)
    draft.priority = value


def no_kill(draft: Draft, option: Option, text: str | None) -> None:
    """Go on after a node failure, or not."""
    word = lower(text or "set")
    if word not in ("set", "off", "no"):
        raise invalid(option.name)
    draft.no_kill = word == "set"


def no_requeue(draft: Draft, option: Option, _text: str | None) -> None:
    """Never run again."""
    draft.requeue = False


def requeue(draft: Draft, option: Option, text: str | None) -> None:
    """Let the job run again."""
    draft.requeue = True
    if lower(text or "") == "expedite":
        draft.expedited_requeue = True
    elif text:
        raise invalid(option.name)


def open_mode(draft: Draft, option: Option, text: str | None) -> None:
    """Append or truncate."""
    letter = lower((text or "")[:1])
    if letter not in ("a", "t") or not letter:
        raise invalid(option.name)
    draft.open_mode = "append" if letter == "a" else "truncate"


def acctg_freq(draft: Draft, option: Option, text: str | None) -> None:
    """Set sampling intervals."""
    words = [
        f"sbatch: error: Invalid --acctg-freq specification: {bad}" for bad in _bad_intervals(text or "")
    ]
    if words:
        raise Refusal(*words, exit_code=255, option=option.key)
    draft.acctg_freq = text


def _bad_intervals(text: str) -> list[str]:
    def valid(token: str) -> bool:
        word = lower(token)
        after = [word.partition(f"{kind}=")[2] for kind in ("energy", "task", "filesystem", "network")]
        return any(strtol(part)[1] != part and int32(strtol(part)[0]) != -1 for part in (token, *after))

    return [token for token in tokens(text, ",") if not valid(token)]


def profile(draft: Draft, option: Option, text: str | None) -> None:
    """Set what is profiled."""
    word = lower(text or "")
    if "none" in word or "all" in word:
        draft.profile = "none" if "none" in word else "all"
        return
    kinds = [kind for kind in _PROFILES if kind in word]
    if not kinds:
        raise bad_option(f"invalid --profile={text} option", option=option.key)
    draft.profile = ",".join(kinds)


def propagate(draft: Draft, option: Option, text: str | None) -> None:
    """Name the limits to take along; all when none is named."""
    draft.propagate = "ALL" if text is None else text


def resv_ports(draft: Draft, option: Option, text: str | None) -> None:
    """Ask for ports."""
    draft.reserve_ports = 0 if text is None else count(text, "--resv-port", positive=False, option=option.key)


def umask(draft: Draft, option: Option, text: str | None) -> None:
    """Set the mask of new files."""
    value = any_base(text or "")
    if not 0 <= value <= 0o777:
        raise bad_option("Invalid -W umask= specification", option=option.key)
    draft.umask = value


def yes_no(draft: Draft, option: Option, text: str | None) -> None:
    """Wait for all nodes, or not."""
    value = count(text or "", "--wait-all-nodes", positive=False, option=option.key) % 2**16
    if value > 1:
        raise invalid(option.name)
    draft.wait_all_nodes = bool(value)


def delay_boot(draft: Draft, option: Option, text: str | None) -> None:
    """Set how long to wait before booting nodes."""
    delay_s = times.seconds(text or "")
    if delay_s is None:
        raise invalid(option.name)
    draft.delay_boot_s = delay_s % 2**32


def segment(draft: Draft, option: Option, text: str | None) -> None:
    """Set the size of segments."""
    size = uint16(text or "")
    if size is None:
        raise invalid(option.name)
    draft.segment_size = size


def oom_kill(draft: Draft, option: Option, text: str | None) -> None:
    """Kill a whole step when one of its tasks runs out of memory, or not."""
    value = 1 if text is None else uint16(text)
    if value not in (0, 1):
        raise invalid(option.name)
    draft.oom_kill_step = bool(value)


def yes_or_no(draft: Draft, option: Option, text: str | None) -> None:
    """Read ``yes`` or ``no``."""
    word = lower(text or "")
    if word not in ("yes", "no"):
        raise invalid(option.name)
    setattr(draft, option.into[0], word == "yes")


def mem_update(draft: Draft, option: Option, text: str | None) -> None:
    """Set how much memory a running job keeps beside what it uses, and from when."""
    margin_text, at, delay_text = (text or "").partition("@")
    if not at:
        raise bad_option("--mem-update requires MARGIN@DELAY format", option=option.key)
    margin, rest = strtol(margin_text)
    delay = times.minutes(delay_text)
    valid = isinstance(delay, int) and 0 < delay <= _UINT16 and 0 < margin <= _UINT16 and not rest
    if not valid:
        raise invalid(option.name)
    draft.memory_update_margin_percent, draft.memory_update_delay_min = margin, int(delay or 0)
