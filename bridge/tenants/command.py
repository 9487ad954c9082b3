"""``python -m bridge.tenants.command``: tenants from a shell inside the bridge's container.

A client of the running bridge. Documents come as JSON ``[{"file", "text"}]`` on standard input, the answer
goes to standard output as JSON; an error is ``{"error": {"code", "message", "details"}}`` and exit status 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, Final

from bridge.errors import InputError, SluiceError
from bridge.wellknown import BRIDGE_SOCKET
from bridge.wire import Client

SLACK_S: Final = 900.0
"""A first apply of a thousand tenants takes minutes; the bridge's own deadlines are shorter."""

_REVISION: Final = "refuse when the documents have another revision by now"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        answer = _run(options)
    except SluiceError as error:
        problem = {"code": error.code, "message": error.message, "details": error.details}
        json.dump({"error": problem}, sys.stdout, default=str)
        print()
        return 1
    json.dump(answer, sys.stdout, default=str)
    print()
    return 0


def _run(options: argparse.Namespace) -> Any:  # noqa: ANN401 - JSON as the bridge answers it
    client = Client(options.socket, "bridge")
    patience: Any = {"actor": options.actor, "wait_s": options.wait, "timeout_s": SLACK_S + options.wait}
    match options.command:
        case "show":
            return client.call("document", name=options.name) if options.name else client.call("tenants")
        case "health" | "import":
            return client.call(options.command, timeout_s=SLACK_S)
        case "history":
            return client.call("history", name=options.name, limit=options.limit)
        case "remove":
            return client.call(
                "remove",
                name=options.name,
                dry_run=options.dry_run,
                revision=options.revision,
                **patience,
            )
        case command:
            return client.call(
                command,
                documents=_documents(),
                prune=options.prune,
                revision=options.revision,
                **patience,
            )


def _documents() -> Any:  # noqa: ANN401 - checked by the bridge
    try:
        return json.load(sys.stdin)
    except ValueError as error:
        raise InputError(f"standard input is not JSON ({error}); give [{{file, text}}]") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bridge.tenants.command", description=__doc__)
    parser.add_argument("--socket", default=BRIDGE_SOCKET, help="the bridge's socket")
    parser.add_argument("--actor", default="administrator", help="who asks, for the audit log")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for Slurm to answer")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("apply", "apply documents"), ("validate", "show what apply would do")):
        command = commands.add_parser(name, help=text)
        command.add_argument("input", nargs="?", choices=["-"], default="-", help="standard input")
        command.add_argument("--prune", action="store_true", help="remove all tenants that are not given")
        command.add_argument("--revision", type=int, help=_REVISION)
    shown = commands.add_parser("show", help="documents and states, or one document as it is written")
    shown.add_argument("name", nargs="?")
    commands.add_parser("import", help="describe the accounts that Slurm has already; writes nothing")
    commands.add_parser("health", help="whether the parts answer")
    history = commands.add_parser("history", help="who changed which document, newest first")
    history.add_argument("name", nargs="?")
    history.add_argument("--limit", type=int, default=100, help="entries at most")
    gone = commands.add_parser("remove", help="drain and remove a tenant")
    gone.add_argument("name")
    gone.add_argument("--dry-run", action="store_true", help="only say what would be done")
    gone.add_argument("--revision", type=int, help=_REVISION)
    return parser


if __name__ == "__main__":
    sys.exit(main())
