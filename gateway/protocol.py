"""HTTP/1.1 as uvicorn speaks it by h11, but for what it says to a request that can't be read."""

from __future__ import annotations

from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from gateway import problems


class Protocol(H11Protocol):
    """Answers bytes that are no HTTP with a problem, as every other error is."""

    def send_400_response(self, msg: str) -> None:
        """Say so and close; uvicorn's own words are plain text."""
        del msg
        body = problems.unreadable()
        headers = [
            (b"content-type", problems.MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        status = HTTPStatus.BAD_REQUEST
        events = (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()
