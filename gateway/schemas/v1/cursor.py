"""Where a page of a listing ended, as the opaque text that clients give back. Pure."""

from __future__ import annotations

import base64
import binascii

from bridge.errors import InputError
from gateway.track.record import JOB_ID


def cursor_of(job_id: str) -> str:
    """Return the cursor of the page after a job."""
    return base64.urlsafe_b64encode(job_id.encode()).decode().rstrip("=")


def job_before(cursor: str) -> str:
    """Return the job that a cursor stands behind.

    Raises
    ------
    InputError
        It is no cursor of ours.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        job_id = base64.b64decode(padded.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        job_id = ""
    if not JOB_ID.match(job_id):
        raise InputError("cursor is not one that this API gave; leave it out to begin at the newest job")
    return job_id
