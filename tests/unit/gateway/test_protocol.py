"""What is no HTTP is answered with a problem, like every other error."""

import asyncio
import json

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from gateway.protocol import Protocol


class Recorded(asyncio.Transport):
    """A connection that keeps what is written on it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
    ],
    ids=["TLS", "header", "target"],
)
def test_what_is_no_http_is_a_problem(request_bytes: bytes) -> None:
    async def story() -> Recorded:
        loaded = Config(app=lambda: None, http=Protocol, log_config=None)
        loaded.load()
        protocol = Protocol(config=loaded, server_state=ServerState(), app_state={})
        transport = Recorded()
        protocol.connection_made(transport)
        protocol.data_received(request_bytes)
        return transport

    transport = asyncio.run(story())
    head, _, body = transport.sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"content-type: application/problem+json" in head
    problem = json.loads(body)
    assert (problem["status"], problem["type"]) == (400, "https://sluice.sh/problems/bad-request")
    assert transport.closed
