"""The one writer: takes queued changes, commits many in one transaction, answers after the fsync.

What flows in: changes (functions of a session). What flows out: their results, once they are durable.
A change that raises loses only its own savepoint. When the commit itself fails, every change of that
transaction fails with `Unavailable`: none of them was kept.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlmodel import Session

from bridge.errors import Unavailable

MAX_BATCH: Final = 256
"""Changes of one transaction; more wait for the next one."""


@dataclass(slots=True)
class Queued:
    """One change and who waits for it."""

    change: Callable[[Session], Any]
    future: Future[Any] = field(default_factory=Future)


class Writer:
    """A thread that owns all writes of this process.

    Parameters
    ----------
    engine
        Its transactions begin by taking the write lock (`gateway.store.engine` sees to it).
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[Queued | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._closed = threading.Event()
        self._thread.start()

    def put(self, change: Callable[[Session], Any]) -> Future[Any]:
        """Queue a change; its future is resolved once the change is on disk."""
        item = Queued(change)
        if self._closed.is_set():
            item.future.set_exception(
                Unavailable("the gateway is shutting down; send it again", part="store")
            )
            return item.future
        self._queue.put(item)
        return item.future

    def close(self) -> None:
        """Commit what is queued and end the thread."""
        if not self._closed.is_set():
            self._closed.set()
            self._queue.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while (batch := self._take()) is not None:
            if batch:
                self._commit(batch)

    def _take(self) -> list[Queued] | None:
        first = self._queue.get()
        if first is None:
            return None
        batch = [first] if first.future.set_running_or_notify_cancel() else []
        while len(batch) < MAX_BATCH:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                self._queue.put(None)
                break
            if item.future.set_running_or_notify_cancel():
                batch.append(item)
        return batch

    def _commit(self, batch: list[Queued]) -> None:
        results: list[tuple[Queued, Any, BaseException | None]] = []
        try:
            with Session(self._engine, expire_on_commit=False) as session, session.begin():
                for item in batch:
                    results.append((item, *_carry_out(session, item)))
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            failure = store_failure(error)
            for item in batch:
                item.future.set_exception(failure)
            return
        for item, value, problem in results:
            if problem is None:
                item.future.set_result(value)
            else:
                item.future.set_exception(problem)


def _carry_out(session: Session, item: Queued) -> tuple[Any, BaseException | None]:
    try:
        with session.begin_nested():
            return item.change(session), None
    except IntegrityError as error:
        return None, error
    except DBAPIError:
        raise  # the database itself failed: the whole transaction is lost
    except Exception as error:  # noqa: BLE001 - handed to the one who queued the change
        return None, error


def store_failure(error: Exception) -> Exception:
    """Turn a failure of the database into `Unavailable`; anything else is left as it is."""
    if isinstance(error, DBAPIError):
        return Unavailable(f"the gateway's store does not take or give data now ({error.orig})", part="store")
    return error
