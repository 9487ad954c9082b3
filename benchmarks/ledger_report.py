"""Import and report of a month with many runs; prints figures as JSON.

``python benchmarks/ledger_report.py [--entries 1000000] [--url URL]``; without ``--url`` an
SQLite file in a temporary folder. The data are generated from a fixed seed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from bridge.job import AccountingRow, BaseState, ExitStatus, JobState
from gateway.ledger.flow import CHUNK, Ledger
from gateway.ledger.period import period_of, zone_of
from gateway.ledger.report import Query, by_of
from gateway.store.engine import Store
from gateway.store.schema import migrate

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
MONTH_S = 30 * 86_400
DONE = JobState(BaseState.COMPLETED)
QUERIES = (
    ("tenant", "UTC", "2026-11-01", "2026-12-01"),
    ("tenant,day", "UTC", "2026-11-01", "2026-12-01"),
    ("tenant,day", "Asia/Kolkata", "2026-11-01", "2026-12-01"),
    ("tenant,day", "America/New_York", "2026-11-01", "2026-12-01"),
    ("tenant,user,class,flavor,door,day", "UTC", "2026-11-01", "2026-12-01"),
    ("tenant", "UTC", "2026-11-03T13:37:00Z", "2026-11-28T07:11:00Z"),
    ("tenant", "UTC", "2026-11-17T12:00:00Z", "2026-11-17T13:00:00Z"),
)


def rows(count: int) -> Iterator[AccountingRow]:
    """Runs of a month: 50 tenants, 500 users, two flavors; half are short, some last for days."""
    random_ = random.Random(20261130)
    for number in range(count):
        user = random_.randrange(500)
        start = BEGIN + timedelta(seconds=number * MONTH_S // count + random_.randrange(600))
        hours = random_.choice((0.05, 0.3, 2, 8)) * random_.expovariate(1)
        gpus = random_.choice((0, 1, 1, 2, 4, 8))
        flavor = ("h100", "a100")[user % 2]
        tres = {"cpu": 1 + 8 * gpus, "mem": 4096 + 65536 * gpus, "node": 1, "billing": 8 + 100 * gpus}
        if gpus:
            tres |= {"gres/gpu": gpus, f"gres/gpu:{flavor}": gpus}
        yield AccountingRow(
            cluster="bench",
            db_index=str((7 << 52) + (number << 10)),
            job_id=number,
            name="train",
            user=f"user{user:03}",
            uid=20000 + user,
            account=f"tenant{user % 50:02}",
            partition=flavor,
            qos=("training", "development", "batch")[(user + (number % 5 == 0)) % 3],
            state=DONE,
            exit=ExitStatus(0),
            submitted_at=start,
            eligible_at=start,
            started_at=start,
            ended_at=start + timedelta(hours=hours),
            tres_allocated=tres,
            admin_comment="sluice:http:X" if user % 3 == 0 else "",
        )


async def measure(ledger: Ledger, count: int) -> dict[str, object]:
    generated = rows(count)
    importing_s = generating_s = 0.0
    while True:
        begun = time.perf_counter()
        chunk = list(islice(generated, CHUNK))
        made = time.perf_counter()
        if not chunk:
            break
        await ledger.take(chunk)
        generating_s += made - begun
        importing_s += time.perf_counter() - made
    again = list(islice(rows(count), 20 * CHUNK))
    begun = time.perf_counter()
    await ledger.take(again)
    again_s = time.perf_counter() - begun
    return {
        "entries": count,
        "import_rows_per_s": round(count / importing_s),
        "import_s": round(importing_s, 2),
        "known_rows_again_per_s": round(len(again) / again_s),
        "reports": [await one(ledger, *query) for query in QUERIES],
    }


async def one(ledger: Ledger, by: str, zone: str, start: str, end: str) -> dict[str, object]:
    query = Query(period_of(start, end, zone_of(zone), now=BEGIN), by_of(by))
    times_s = []
    for _ in range(3):
        begun = time.perf_counter()
        report = await ledger.report(query)
        times_s.append(time.perf_counter() - begun)
    return {
        "by": by,
        "timezone": zone,
        "from": start,
        "to": end,
        "rows": len(report.rows),
        "gpu_seconds": report.total.gpu_s,
        "seconds": [round(seconds, 3) for seconds in times_s],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--url")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        url = arguments.url or f"sqlite:///{file}"
        migrate(url)
        store = Store.open(url)
        found = asyncio.run(measure(Ledger(store=store), arguments.entries))
        store.close()
        if file.exists():
            found["database_mib"] = round(file.stat().st_size / 2**20)
    found["peak_memory_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
