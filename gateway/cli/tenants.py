"""``sluice tenants``: who may use the pool; documents go to the bridge of the local stack.

Reading is HTTP like everything else. Writing goes through the bridge's own command in its container:
whoever may speak to the Docker engine owns the local stack anyway.
"""

from __future__ import annotations

import getpass
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from bridge.cluster.stack import Stack
from bridge.errors import InputError, SluiceError, Unavailable, by_code
from bridge.tenants.source import MAX_BYTES
from gateway.cli.client import Gateway
from gateway.cli.member_keys import ensure_keys, users_of
from gateway.cli.plans import confirmed, history_lines, show_done, show_plan, text_changes
from gateway.cli.progress import Progress
from gateway.cli.session import (
    CHECKOUT,
    AsOption,
    JsonOption,
    StackOption,
    open_session,
    print_json,
    stack_url,
)
from gateway.cli.tables import tenants_table

WAIT_S: Final = 60
"""For Slurm to answer while it starts."""

WHAT: Final = "List tenants; check, compare, apply, show or remove their documents."

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Tenant documents (YAML), or folders of them.")
]
SomeFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE...]", help="Tenant documents; without any, what has drifted in Slurm."),
]
Name = Annotated[str, typer.Argument(metavar="TENANT")]
SomeName = Annotated[str | None, typer.Argument(metavar="[TENANT]")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Carry the plan out without asking.")]
Prune = Annotated[bool, typer.Option("--prune", help="Remove all tenants that no FILE describes.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Entries at most.")]


def register(app: typer.Typer) -> None:
    """Add the command and its own commands."""
    commands = typer.Typer(help=WHAT)
    commands.callback(invoke_without_command=True)(tenants)
    commands.command("list")(list_tenants)
    for command in (apply, validate, diff, show, history, remove):
        commands.command(command.__name__)(command)
    app.add_typer(commands, name="tenants")


def tenants(
    context: typer.Context,
    *,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """List tenants; check, compare, apply, show or remove their documents."""
    if context.invoked_subcommand is None:
        list_tenants(as_user=as_user, stack=stack, as_json=as_json)


def list_tenants(
    *, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """List the tenants that the user may see."""
    with Gateway(open_session(stack, as_user)) as gateway:
        found = gateway.tenants()
    if as_json:
        print_json(found)
        return
    console = Console()
    console.print(tenants_table(found, width=console.width))


def apply(
    files: Files,
    *,
    yes: Yes = False,
    prune: Prune = False,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Apply tenant documents after showing the plan: all of them, or, when one is wrong, none."""
    sources = documents(files)
    options = ("--prune",) if prune else ()
    plan = tell_bridge(stack, "validate", *options, sources=sources)
    if confirmed(plan, yes=yes, as_json=as_json):
        done = tell_bridge(stack, "apply", *options, "--revision", str(plan["revision"]), sources=sources)
        show_done(done, as_json=as_json)
    elif plan["plan"]:
        return
    _give_keys(Stack(stack, CHECKOUT), sources)


def validate(
    files: Files, *, prune: Prune = False, stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """Say what applying the documents would do; changes nothing."""
    options = ("--prune",) if prune else ()
    show_plan(tell_bridge(stack, "validate", *options, sources=documents(files)), as_json=as_json)


def diff(
    files: SomeFiles = None,
    *,
    prune: Prune = False,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Compare documents with those in force, and Slurm with both; changes nothing."""
    if prune and not files:
        raise InputError("--prune needs the documents that stay; name files, or leave it out")
    options = ("--prune",) if prune else ()
    answer = tell_bridge(stack, "validate", *options, sources=documents(files or []))
    if not as_json:
        sys.stdout.write("".join(text_changes(answer)))
    show_plan(answer, as_json=as_json)


def show(name: Name, *, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Show a tenant's document as it is written; with --json as it is read, defaults filled in."""
    answer = tell_bridge(stack, "show", name)
    if as_json:
        print_json(answer["document"])
    else:
        sys.stdout.write(str(answer["text"]))


def history(
    name: SomeName = None,
    *,
    limit: Limit = 20,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Show who changed which document, when, from what to what; newest first."""
    named = (name,) if name else ()
    answer = tell_bridge(stack, "history", *named, "--limit", str(limit))
    if as_json:
        print_json(answer)
    else:
        sys.stdout.write("".join(history_lines(answer)))


def remove(
    name: Name, *, yes: Yes = False, stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """Remove a tenant: it takes no more jobs, and leaves Slurm when its last one has ended."""
    plan = tell_bridge(stack, "remove", name, "--dry-run")
    if not confirmed(plan, yes=yes, as_json=as_json):
        return
    show_done(tell_bridge(stack, "remove", name, "--revision", str(plan["revision"])), as_json=as_json)


def _give_keys(local: Stack, sources: list[dict[str, str]]) -> None:
    """Make API keys for members who have none, where this checkout keeps the stack's keys."""
    if not local.read("stack.json"):
        return
    words = Console(stderr=True)
    with Progress(words) as report, local.locked(report):
        made = ensure_keys(local, stack_url(local.name), users_of(sources), report)
    if made:
        words.print(f"made API keys for {', '.join(made)}: --as {next(iter(made))}", highlight=False)


def documents(files: list[Path]) -> list[dict[str, str]]:
    """Read files, and the ``*.yaml`` of folders, as the bridge takes them: by their names alone."""
    found: list[dict[str, str]] = []
    for given in files:
        paths = sorted([*given.glob("*.yaml"), *given.glob("*.yml")]) if given.is_dir() else [given]
        if not paths:
            raise InputError(f"{given}: no *.yaml in this folder; name the documents")
        for path in paths:
            try:
                if path.stat().st_size > MAX_BYTES:
                    size = path.stat().st_size
                    raise InputError(
                        f"{path}: {size} bytes are above the limit of {MAX_BYTES}; split it by tenant"
                    )
                found.append({"file": path.name, "text": path.read_text(encoding="utf-8")})
            except OSError as error:
                raise InputError(f"{path} can't be read: {error.strerror}") from error
            except UnicodeDecodeError as error:
                raise InputError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    names = [source["file"] for source in found]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"two of the files are called {doubled[0]}; the bridge keeps them by name: rename one"
        )
    return found


def tell_bridge(stack: str, *words: str, sources: list[dict[str, str]] | None = None) -> dict[str, Any]:
    """Run the bridge's command in its container; returns its JSON, raises the error that it prints.

    `sources` are the documents of ``apply`` and ``validate``.
    """
    command = ["docker", "exec", "-i", f"{stack}-bridge", "python", "-m", "bridge.tenants.command"]
    command += ["--actor", f"cli:{getpass.getuser()}", "--wait", str(WAIT_S), *words]
    try:
        done = subprocess.run(
            command, input=json.dumps(sources or []), capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise Unavailable(
            "the docker command is not there; install Docker's client", part="docker"
        ) from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        said = done.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
        raise Unavailable(
            f"the bridge of stack {stack!r} does not answer ({said[0]}); ./sluice status shows why",
            part="bridge",
        ) from error
    if "error" in answer:
        raise _refusal(answer["error"])
    return answer


def _refusal(frame: dict[str, Any]) -> SluiceError:
    error = by_code(str(frame.get("code")))(str(frame.get("message", "the bridge refused")))
    error.details.update(frame.get("details") or {})
    return error
