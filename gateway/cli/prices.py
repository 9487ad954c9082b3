"""``sluice prices``: the price books of the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from bridge.errors import InputError
from gateway.cli.client import Gateway
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json
from gateway.cli.tables import moment, plain_table
from gateway.price.book import PriceBook

BookFile = Annotated[Path, typer.Argument(metavar="FILE", help="A price book in YAML.")]
BookName = Annotated[str, typer.Argument(metavar="NAME", help="The book's name.")]
LARGEST = 1024 * 1024
"""Bytes of a price book."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Price books: what usage costs.", no_args_is_help=True)
    for command in (listing, show, validate, apply, remove):
        group.command("list" if command is listing else command.__name__)(command)
    app.add_typer(group, name="prices")


def listing(*, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """List the price books in force."""
    with Gateway(open_session(stack, as_user)) as gateway:
        found = gateway.get("/v1/prices")
    if as_json:
        print_json(found["items"])
        return
    if not found["items"]:
        Console().print("no price books; an administrator makes one: ./sluice prices apply FILE")
        return
    table = plain_table()
    for title in ("Book", "Currency", "Per", "Zone", "Prices", "Changed", "By"):
        table.add_column(title, overflow="fold")
    for one in found["items"]:
        book = one["book"]
        prices = len(book["on_demand"]) + len(book["reserved"])
        cells = (book["name"], book["currency"], book["per"], book["timezone"], str(prices))
        table.add_row(*cells, moment(one["changed_at"]), one["changed_by"])
    Console().print(table)


def show(
    name: BookName, *, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """Show a price book."""
    with Gateway(open_session(stack, as_user)) as gateway:
        found = gateway.get(f"/v1/prices/{name}")
    if as_json:
        print_json(found)
        return
    if found["book"] is None:
        Console().print(f"{name} was removed by {found['changed_by']} at {moment(found['changed_at'])}")
        return
    Console().print(book_table(found["book"]))


def validate(book: BookFile, *, as_json: JsonOption = False) -> None:
    """Say whether a price book is good; asks nobody and changes nothing."""
    found = read_book(book)
    if as_json:
        print_json(found.model_dump(mode="json", by_alias=True))
    else:
        Console().print(f"{book}: price book {found.name!r} is good", highlight=False)


def apply(
    book: BookFile, *, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """Put a price book in force under its name; needs an administrator's key."""
    found = read_book(book)
    with Gateway(open_session(stack, as_user)) as gateway:
        changed, answer = gateway.put(
            f"/v1/prices/{found.name}", found.model_dump(mode="json", by_alias=True)
        )
    if as_json:
        print_json(answer)
        return
    words = f"price book {found.name!r} is in force" if changed else f"price book {found.name!r} is unchanged"
    Console().print(words, highlight=False)


def remove(
    name: BookName, *, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """Take a price book out of force; bills of the past keep it."""
    with Gateway(open_session(stack, as_user)) as gateway:
        gateway.delete(f"/v1/prices/{name}")
    if as_json:
        print_json({"removed": name})
    else:
        Console().print(f"price book {name!r} is removed", highlight=False)


def read_book(path: Path) -> PriceBook:
    """Read a price book.

    Raises
    ------
    InputError
        It can't be read, or it is wrong: the file, the place in it and what to write.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is larger than {LARGEST:,} bytes; a price book is some lines of YAML")
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}", file=str(path)) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{path} is not YAML in UTF-8: {said}", file=str(path)) from error
    try:
        return PriceBook.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the document"
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}: {place}: {said}", file=str(path), path=place) from error


def book_table(book: dict[str, Any]) -> Table:
    """Return the table of a book's prices."""
    title = f"{book['name']}: {book['currency']} per {book['per']}, days of {book['timezone']}"
    table = plain_table(title)
    for name in ("Kind", "From", "To", "Flavor", "Class", "Tenant"):
        table.add_column(name)
    for name in ("GPU", "CPU", "GiB", "Discount"):
        table.add_column(name, justify="right")
    for price in book["on_demand"]:
        kinds = (price["flavor"] or "any", price["class"] or "any", "any")
        table.add_row(
            "on demand", price["from"], "", *kinds, price["gpu"], price["cpu"], price["memory_gib"], ""
        )
    for price in book["reserved"]:
        table.add_row("reserved", price["from"], "", price["flavor"], "", "any", price["gpu"], "", "", "")
    for each in book["discounts"]:
        whose = tuple(each[key] or "any" for key in ("flavor", "class", "tenant"))
        table.add_row("discount", each["from"], each["to"] or "", *whose, "", "", "", f"{each['percent']} %")
    return table
