"""Calls over a Unix socket: answers, streams, errors as classes, lost peers, and who may speak."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import Denied, InputError, OutcomeUnknown, SluiceError, SlurmRefused, Unavailable
from bridge.wire import MAX_FRAME, Client, ConnectionLost, Handler, Server, receive_frame, send_frame

Start = Callable[..., Client]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """``start(op=handler)`` serves and returns a client."""
    servers: list[Server] = []
    clients: list[Client] = []

    def serve(*, allowed: frozenset[int] = frozenset({os.getuid()}), **handlers: Handler) -> Client:
        server = Server(str(tmp_path / "x.sock"), handlers, allowed)
        server.start()
        servers.append(server)
        client = Client(str(server.path), "the part")
        clients.append(client)
        return client

    yield serve
    for client in clients:
        client.close()
    for server in servers:
        server.shutdown()


def raising(error: Exception) -> Handler:
    def handler(_args: Mapping[str, Any]) -> None:
        raise error

    return handler


def test_values_come_back_as_they_were(start: Start) -> None:
    sent: dict[str, Any] = {
        "text": "é",
        "bytes": b"\xff\0",
        "moment": datetime(2026, 1, 1, tzinfo=UTC),
        "list": [1, None, 2.5],
    }
    client = start(echo=dict)
    assert client.call("echo", **sent) == sent


def test_a_connection_serves_many_calls(start: Start) -> None:
    threads: set[str] = set()

    def name(_args: Mapping[str, Any]) -> None:
        threads.add(threading.current_thread().name)

    client = start(name=name)
    for _ in range(5):
        client.call("name")
    assert len(threads) == 1


def test_a_stream_comes_piece_by_piece(start: Start) -> None:
    client = start(count=lambda args: iter(range(args["to"])))
    assert list(client.stream("count", to=1000)) == list(range(1000))


def test_an_error_within_a_stream_comes_after_its_items(start: Start) -> None:
    def some(_args: Mapping[str, Any]) -> Iterator[int]:
        yield 1
        raise Unavailable("no more", part="x")

    stream = start(some=some).stream("some")
    assert next(stream) == 1
    with pytest.raises(Unavailable, match="no more"):
        next(stream)


def test_an_error_is_the_same_class_and_keeps_its_details(start: Start) -> None:
    client = start(no=raising(SlurmRefused("Invalid qos specification", errno=2066)))
    with pytest.raises(SlurmRefused, match="Invalid qos") as refused:
        client.call("no")
    assert refused.value.errno == 2066


def test_retry_after_survives(start: Start) -> None:
    with pytest.raises(Unavailable) as away:
        start(away=raising(Unavailable("later", retry_after_s=17))).call("away")
    assert away.value.retry_after_s == 17


def test_a_fault_of_ours_tells_no_insides(start: Start) -> None:
    with pytest.raises(SluiceError, match="its log has the reason") as failed:
        start(bug=raising(KeyError("secret"))).call("bug")
    assert "secret" not in str(failed.value)


def test_the_connection_survives_an_error(start: Start) -> None:
    client = start(no=raising(InputError("no")), yes=lambda _args: "yes")
    with pytest.raises(InputError):
        client.call("no")
    assert client.call("yes") == "yes"


def test_an_unknown_operation_is_refused(start: Start) -> None:
    with pytest.raises(InputError, match="unknown operation 'what'"):
        start().call("what")


def test_another_uid_is_denied(start: Start) -> None:
    client = start(allowed=frozenset({os.getuid() + 1}), echo=lambda _args: "secret")
    with pytest.raises(Denied, match=f"uid {os.getuid()}"):
        client.call("echo")


def test_nobody_listening_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="the part does not answer") as away:
        Client(str(tmp_path / "none.sock"), "the part").call("x")
    assert type(away.value) is Unavailable


def test_an_answer_that_is_late_is_an_unknown_outcome(start: Start) -> None:
    release = threading.Event()
    client = start(wait=lambda _args: release.wait(10))
    with pytest.raises(OutcomeUnknown, match=r"within 0.1 s"):
        client.call("wait", timeout_s=0.1)
    release.set()


def test_a_server_that_dies_in_the_middle_is_an_unknown_outcome(tmp_path: Path) -> None:
    path = str(tmp_path / "x.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()

        def take_and_die() -> None:
            taken, _ = listener.accept()
            with taken:
                receive_frame(taken)

        threading.Thread(target=take_and_die).start()
        with pytest.raises(OutcomeUnknown):
            Client(path, "the part").call("submit")


def test_an_idle_connection_of_a_restarted_server_costs_nothing(start: Start, tmp_path: Path) -> None:
    client = start(echo=lambda args: args["x"])
    assert client.call("echo", x=1) == 1
    stale = client._idle.get()
    stale.shutdown(socket.SHUT_RDWR)
    client._idle.put(stale)
    assert client.call("echo", x=2) == 2


def test_a_frame_above_the_limit_is_refused_before_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.wire.frame.MAX_FRAME", 1000)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(InputError, match="above the limit"):
        send_frame(ours, {"x": b"0" * 1001})


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800"])
def test_a_value_that_no_frame_carries_is_refused(value: object) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(InputError, match="can't be sent"):
        send_frame(ours, {"x": value})


NO_VALUES = [
    struct.pack(">I", 3) + b"\x81\x90\x01",
    struct.pack(">I", 17) + b"\x81\xa1t\xc7\x0c\xff\x00\x00\x00\x00\x7f" + b"\xff" * 7 + b"\x00" * 0,
]


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">I", MAX_FRAME + 1),
        struct.pack(">I", 9) + b"abc",
        struct.pack(">I", 1) + b"\x01",
        *NO_VALUES,
    ],
    ids=["too long", "cut off", "no map", "a list as a key", "a time beyond all"],
)
def test_what_is_no_frame_ends_the_connection(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionLost):
            receive_frame(ours)


def test_a_closed_connection_is_the_end() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        assert receive_frame(ours) is None
