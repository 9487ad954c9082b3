"""The wire between pods: certificate and token, what a token may ask, and the same answers as on a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.errors import Denied, InputError, Unauthenticated, Unavailable
from bridge.wire import Client, Handler, SecureServer
from bridge.wire.secure import HELLO_BYTES

TLS = Path(__file__).parents[1] / "data" / "tls"
MAY = {"gateway": frozenset({"echo", "secret"}), "login": frozenset({"echo"})}


def admit(token: str) -> frozenset[str]:
    try:
        return MAY[token]
    except KeyError:
        raise Unauthenticated("unknown token") from None


@pytest.fixture
def server() -> Iterator[SecureServer]:
    handlers: dict[str, Handler] = {
        "echo": dict,
        "secret": lambda _args: "word",
        "items": lambda _args: iter([1, 2]),
    }
    made = SecureServer(
        ("127.0.0.1", 0), handlers, certificate=TLS / "localhost.crt", key=TLS / "localhost.key", admit=admit
    )
    made.start()
    yield made
    made.shutdown()


def client(
    server: SecureServer, folder: Path, token: str, *, host: str = "localhost", ca: str = ""
) -> Client:
    file = folder / "token"
    file.write_text(token)
    return Client(f"tls://{host}:{server.port}?ca={ca or TLS / 'localhost.crt'}&token={file}", "the bridge")


def test_a_known_token_is_answered_over_kept_connections(server: SecureServer, tmp_path: Path) -> None:
    asks = client(server, tmp_path, "gateway")
    assert asks.call("echo", word="é", data=b"\xff") == {"word": "é", "data": b"\xff"}
    assert asks.call("secret") == "word"
    asks.close()


def test_a_token_asks_only_what_it_may(server: SecureServer, tmp_path: Path) -> None:
    asks = client(server, tmp_path, "login")
    with pytest.raises(Denied):
        asks.call("secret")
    assert asks.call("echo", a=1) == {"a": 1}
    with pytest.raises(InputError):
        asks.call("nothing")
    asks.close()


def test_an_unknown_token_and_a_foreign_certificate_are_no_service(
    server: SecureServer, tmp_path: Path
) -> None:
    with pytest.raises(Unavailable, match="does not take this process's token: unknown token"):
        client(server, tmp_path, "forged").call("echo")
    with pytest.raises(Unavailable):
        client(server, tmp_path, "gateway", ca="/etc/ssl/certs/ca-certificates.crt").call("echo")


def test_who_has_shown_no_token_is_heard_for_a_few_words_only(server: SecureServer, tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        client(server, tmp_path, "x" * HELLO_BYTES).call("echo")


def test_a_connection_that_the_server_closed_is_made_anew(server: SecureServer, tmp_path: Path) -> None:
    asks = client(server, tmp_path, "gateway")
    asks.call("echo")
    asks._idle.queue[0].close()
    assert asks._idle.queue[0].fileno() == -1
    asks._idle.queue.clear()
    assert asks.call("echo", a=2) == {"a": 2}
    asks.close()


@pytest.mark.parametrize(
    "address", ["tls://host", "tls://host:1", "tls://host:1?ca=x", "tls://:1?ca=x&token=y"]
)
def test_half_an_address_is_refused(address: str) -> None:
    with pytest.raises(InputError):
        Client(address, "the bridge")
