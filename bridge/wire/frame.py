"""One frame on a socket: a length and a msgpack map; and errors as frames."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any, Final

import msgpack

from bridge.errors import InputError, SluiceError, by_code

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes; a script is at most 4 MiB, a listing of 10,000 jobs about 10 MiB."""

_LENGTH = struct.Struct(">I")


class ConnectionLost(Exception):
    """The peer closed or reset the connection in the middle of an exchange."""


def send_frame(sock: socket.socket, message: Mapping[str, Any]) -> None:
    """Write one frame; raises `InputError` above `MAX_FRAME`, `ConnectionLost` when the peer is gone."""
    try:
        body: bytes = msgpack.packb(message, use_bin_type=True, datetime=True)
    except (
        OverflowError,
        ValueError,
    ) as error:  # an integer of more than 64 bits, a lone surrogate, a deep nest
        raise InputError("a value of the request can't be sent: too large, too deep or not text") from error
    if len(body) > MAX_FRAME:
        raise InputError(f"a message of {len(body)} bytes is above the limit of {MAX_FRAME} bytes")
    try:
        sock.sendall(_LENGTH.pack(len(body)) + body)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        raise ConnectionLost(str(error)) from error


def receive_frame(sock: socket.socket, *, most: int = MAX_FRAME) -> dict[str, Any] | None:
    """Read one frame of at most `most` bytes; None when the peer closed between frames."""
    head = _receive_exactly(sock, _LENGTH.size, may_end=True)
    if head is None:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > most:
        raise ConnectionLost(f"frame of {size} bytes is above the limit of {most}")
    body = _receive_exactly(sock, size, may_end=False)
    try:
        message = msgpack.unpackb(body, raw=False, timestamp=3, strict_map_key=False)
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise ConnectionLost(f"not a msgpack frame: {error}") from error
    if not isinstance(message, dict):
        raise ConnectionLost("frame is not a map")
    return message


def _receive_exactly(sock: socket.socket, size: int, *, may_end: bool) -> bytes | None:
    chunks: list[bytes] = []
    missing = size
    while missing:
        try:
            chunk = sock.recv(min(missing, 1 << 20))
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        if not chunk:
            if may_end and missing == size:
                return None
            raise ConnectionLost("the peer closed the connection within a frame")
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)


def error_frame(error: SluiceError) -> dict[str, Any]:
    """Turn an error into its frame."""
    return {"error": {"code": error.code, "message": error.message, "details": error.details}}


def raise_error(frame: Mapping[str, Any]) -> None:
    """Raise the error that an error frame carries, as the same class on this side."""
    error = by_code(str(frame.get("code", "internal")))
    raise error(str(frame.get("message", "unknown error")), **dict(frame.get("details") or {}))
