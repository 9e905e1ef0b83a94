"""How many records the log server takes in a second, each on the disk before it is acknowledged, beside plain SQLite
that commits the same records in batches of the same size, as durably."""

import http.client
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.table import Row, Unit, at_least

SENDERS = 2
BATCH = 200
KINDS = ("job.queued", "job.starting", "task.running", "job.running", "task.succeeded", "job.succeeded")
PEER = "SQLite, as many in a commit"
BARS = [
    Row("log server records in batches", Unit.PER_SECOND, peer=PEER, bar=at_least(5000)),
    Row("log server records one by one", Unit.PER_SECOND, peer=PEER),
]


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with tempfile.TemporaryDirectory() as folder:
        many = [_records(f"r{n}", scale.log_records // SENDERS) for n in range(SENDERS)]
        single = [_records(f"s{n}", scale.log_records // 50 // SENDERS) for n in range(SENDERS)]
        with _log_server(Path(folder)) as port:
            ours = _sent(port, many, BATCH), _sent(port, single, 1)
        theirs = _sqlite(Path(folder), many, BATCH), _sqlite(Path(folder), single, 1)
    notes = f"{SENDERS} senders, {BATCH} records in a request", f"{SENDERS} senders, one record in a request"
    return [
        Row(bar.what, bar.unit, mine, bar.peer, other, bar.bar, note)
        for bar, mine, other, note in zip(BARS, ours, theirs, notes, strict=True)
    ]


def _records(receiver: str, count: int) -> list[dict[str, Any]]:
    config = {"name": "wide-and-deep", "roles": {"worker": {"replicas": 2, "command": "python train.py"}}}
    common = {"receiver": receiver, "at": "2026-01-02T03:04:05.000Z", "server": "http://receiver:7070", "owner": "li"}
    return [
        {
            **common,
            "seq": seq,
            "kind": KINDS[seq % len(KINDS)],
            "jobId": f"job{seq // len(KINDS)}",
            "name": "wide-and-deep",
            "state": "Running",
            "cluster": "lab",
            "trackingUrl": f"http://receiver:7070/jobs/job{seq // len(KINDS)}",
            **({"config": config, "params": {"lr": 0.1}} if seq % len(KINDS) == 0 else {}),
        }
        for seq in range(1, count + 1)
    ]


@contextmanager
def _log_server(folder: Path) -> Iterator[int]:
    command = [sys.executable, "-m", "muster.logserver", "-p", "0", "-f", str(folder / "jobs.log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().rsplit(":", 1)[1])
        finally:
            process.terminate()


def _sent(port: int, senders: Sequence[Sequence[dict[str, Any]]], batch: int) -> float:
    """Records in a second, from the first request to the last acknowledgement. All bodies are made before."""
    requests = [
        [_body(records[first : first + batch]) for first in range(0, len(records), batch)] for records in senders
    ]
    threads = [threading.Thread(target=_send, args=(port, bodies)) for bodies in requests]
    before = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(map(len, senders)) / (time.perf_counter() - before)


def _body(records: Sequence[dict[str, Any]]) -> bytes:
    return json.dumps({"records": list(records)}).encode()


def _send(port: int, bodies: Sequence[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for body in bodies:
        connection.request("POST", "/v1/records", body)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the log server answered {answer.status}: {text!r}")
    connection.close()


def _sqlite(folder: Path, senders: Sequence[Sequence[dict[str, Any]]], batch: int) -> float:
    """The same records in one process, without HTTP, checks and summaries of jobs."""
    connection = sqlite3.connect(folder / f"peer-{batch}.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE records (receiver TEXT, seq INTEGER, body TEXT, PRIMARY KEY (receiver, seq))")
    rows = [[(one["receiver"], one["seq"], json.dumps(one)) for one in records] for records in senders]
    before = time.perf_counter()
    for records in rows:
        for first in range(0, len(records), batch):
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO records VALUES (?, ?, ?)", records[first : first + batch])
            connection.execute("COMMIT")
    seconds = time.perf_counter() - before
    connection.close()
    return sum(map(len, senders)) / seconds


CASE = Case("logserver", "log server records/s", run, lambda figures: BARS)
