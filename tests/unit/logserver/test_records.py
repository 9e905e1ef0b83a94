"""What the log server takes as records, and what it says of everything else."""

import json
from typing import Any

import pytest

from muster.logserver.records import MAX_RECORD_BYTES, MAX_RECORDS, BadRecords, read_line, read_request
from tests.parts.log_server import record

pytestmark = pytest.mark.fast


def request(*records: Any) -> bytes:
    return json.dumps({"records": list(records)}).encode()


def test_a_record_is_kept_with_everything_it_says() -> None:
    sent = record(7, name="训练", config={"roles": {"worker": {"replicas": 2}}}, more=[1, None, 2.5])
    (found,) = read_request(request(sent))
    assert (found.key, found.job_id, json.loads(found.line)) == (("r1", 7), "job0", sent)
    assert found.line.endswith(b"}\n")
    assert found.line.count(b"\n") == 1
    assert read_line(found.line) == found


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (request({**record(1), "seq": 0}), "0.seq"),
        (request({**record(1), "seq": True}), "0.seq"),
        (request({**record(1), "seq": "1"}), "0.seq"),
        (request({**record(1), "seq": 1 << 63}), "0.seq"),
        (request({**record(1), "receiver": ""}), "0.receiver"),
        (request({**record(1), "receiver": "a/b"}), "0.receiver"),
        (request({**record(1), "at": "yesterday"}), "0.at"),
        (request({**record(1), "kind": None}), "0.kind"),
        (request({**record(1), "name": 3}), "0.name"),
        (request(record(1), {"receiver": "r1"}), "1.seq"),
        (request("text"), "records.0"),
        (b'{"records": {}}', "records"),
        (b"[]", "body"),
        (b"{}", "records"),
    ],
)
def test_a_wrong_record_is_named_with_its_place(body: bytes, path: str) -> None:
    with pytest.raises(BadRecords) as caught:
        read_request(body)
    assert path in [problem["path"] for problem in caught.value.problems]


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b'{"records": [', b"\xff\xfe", b"[" * 1000 + b"]" * 1000, request(record(1, x=float("nan")))],
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(BadRecords, match="not JSON"):
        read_request(body)


def test_too_much_is_refused() -> None:
    with pytest.raises(BadRecords) as caught:
        read_request(request(*[record(n + 1) for n in range(MAX_RECORDS + 1)]))
    assert caught.value.problems[0]["path"] == "records"
    with pytest.raises(BadRecords, match="bytes") as caught:
        read_request(request(record(1, x="x" * MAX_RECORD_BYTES)))
    assert caught.value.is_too_large


def test_a_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(BadRecords):
        read_request(b'{"records":[{"receiver":"r","seq":1,"kind":"k","at":"2026-01-01T00:00:00Z","x":"\\ud800"}]}')
