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
import yaml
from rich.console import Console

from bridge.cluster.stack import Stack
from bridge.errors import InputError, NotFound, SluiceError, Unavailable, by_code
from gateway.cli.client import Gateway
from gateway.cli.member_keys import ensure_keys, users_of
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
from gateway.cli.tables import plain_table, tenants_table

WAIT_S: Final = 60
"""For Slurm to answer while it starts."""

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Tenant documents (YAML), or folders of them.")
]
Name = Annotated[str, typer.Argument(metavar="TENANT")]


def register(app: typer.Typer) -> None:
    """Add the command and its own commands."""
    commands = typer.Typer(help="List tenants, and apply, check, show or remove their documents.")
    commands.callback(invoke_without_command=True)(tenants)
    commands.command("list")(list_tenants)
    commands.command("apply")(apply)
    commands.command("validate")(validate)
    commands.command("show")(show)
    commands.command("remove")(remove)
    app.add_typer(commands, name="tenants")


def tenants(
    context: typer.Context,
    *,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """List tenants, and apply, check, show or remove their documents."""
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


def apply(files: Files, *, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Apply tenant documents: all of them, or, when one is wrong, none."""
    sources = documents(files)
    _show_plan(tell_bridge(stack, "apply", sources), done=True, as_json=as_json)
    _give_keys(Stack(stack, CHECKOUT), sources)


def validate(files: Files, *, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Say what applying the documents would change; changes nothing."""
    _show_plan(tell_bridge(stack, "validate", documents(files)), done=False, as_json=as_json)


def show(name: Name, *, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Show a tenant's document as the bridge has it."""
    answer = tell_bridge(stack, "show")
    known = answer.get("documents", ()) if isinstance(answer, dict) else ()
    found = next((document for document in known if document["name"] == name), None)
    if found is None:
        raise NotFound(f"there is no tenant {name!r}; ./sluice tenants lists them")
    if as_json:
        print_json(found)
    else:
        sys.stdout.write(yaml.safe_dump(found, sort_keys=False, allow_unicode=True))


def remove(name: Name, *, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Remove a tenant: it takes no more jobs, and leaves Slurm when its last one has ended."""
    _show_plan(tell_bridge(stack, "remove", name=name), done=True, as_json=as_json)


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


def tell_bridge(
    stack: str, action: str, sources: list[dict[str, str]] | None = None, *, name: str | None = None
) -> object:
    """Run the bridge's command in its container; returns its JSON, raises the error that it prints."""
    command = ["docker", "exec", "-i", f"{stack}-bridge", "python", "-m", "bridge.tenants.command"]
    command += ["--actor", f"cli:{getpass.getuser()}", "--wait", str(WAIT_S), action]
    command += [name] if name is not None else ["-"] if sources is not None else []
    try:
        done = subprocess.run(
            command, input=json.dumps(sources or []), capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise Unavailable(
            "the docker command is not there; install Docker's client", part="docker"
        ) from error
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        words = done.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
        raise Unavailable(
            f"the bridge of stack {stack!r} does not answer ({words[0]}); ./sluice status shows why",
            part="bridge",
        ) from error
    if isinstance(answer, dict) and "error" in answer:
        raise _refusal(answer["error"])
    return answer


def _refusal(frame: dict[str, Any]) -> SluiceError:
    error = by_code(str(frame.get("code")))(str(frame.get("message", "the bridge refused")))
    error.details.update(frame.get("details") or {})
    return error


def _show_plan(answer: object, *, done: bool, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    console = Console()
    steps = answer.get("plan", ()) if isinstance(answer, dict) else ()
    if not steps:
        console.print("nothing to change: all of it is in force")
        return
    table = plain_table()
    for column in ("Done" if done else "To do", "What", "Name", "Detail"):
        table.add_column(column, overflow="fold")
    for step in steps:
        table.add_row(*(str(step.get(key) or "") for key in ("action", "kind", "name", "detail")))
    console.print(table)
