"""Calls between Sluice's own processes: framed messages on a Unix socket.

A frame is a 4-byte big-endian length and a msgpack map. A request is ``{"op": str, "args": map}``; an
answer is zero or more ``{"item": value}`` frames and one ``{"done": value}`` or ``{"error": {"code",
"message", "details"}}``. One request at a time on a connection; a client keeps a few connections. Who
may speak is decided by SO_PEERCRED: the kernel's word for the peer's uid, never something it sent.
Between pods the same frames travel over TLS, and a token that the API server vouches for stands for the uid
(`bridge.wire.secure`).

What doesn't belong here: what the operations are (each server has its own table of handlers).
"""

from bridge.wire.client import Client
from bridge.wire.frame import (
    MAX_FRAME,
    ConnectionLost,
    error_frame,
    raise_error,
    receive_frame,
    send_frame,
)
from bridge.wire.secure import Address, Admit, SecureServer
from bridge.wire.server import Handler, Server, peer_uid

__all__ = [
    "MAX_FRAME",
    "Address",
    "Admit",
    "Client",
    "ConnectionLost",
    "Handler",
    "SecureServer",
    "Server",
    "error_frame",
    "peer_uid",
    "raise_error",
    "receive_frame",
    "send_frame",
]
