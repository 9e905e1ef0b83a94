"""A log beyond its limit, as it is read through the API: positions count every byte that was ever written."""

from collections.abc import Iterator

import httpx
import pytest

from tests.integration.api.calling import Caller, Sse, ok, problem
from tests.integration.api.people import make_people, unique
from tests.parts.server import polls, running_server

LIMIT = 256 << 10
LAST = 60_000
TEXT = "".join(f"line {number}\n" for number in range(1, LAST + 1))
PRINTING = f"seq -f 'line %.0f' 1 {LAST}"


@pytest.fixture(scope="module")
def me(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    home = tmp_path_factory.mktemp("small-logs")
    (home / "config.yaml").write_text(f"limits: {{logBytesPerTask: {LIMIT}}}\n")
    with running_server(home) as server:
        yield make_people(server).owner


@pytest.mark.parametrize("is_running", [False, True])
def test_what_was_dropped_is_named_and_all_else_keeps_its_position(me: Caller, is_running: bool) -> None:
    waiting = "; sleep 600" if is_running else ""
    job = me.submit({"name": unique("log"), "command": f"{PRINTING}{waiting}"})["id"]
    if not is_running:
        me.server.wait(job)
    raw = f"/jobs/{job}/logs/raw?task=worker-0"
    start, end = dropped(me, raw)
    whole = me.get(raw)
    head, _, rest = whole.text.partition("[muster: ")
    marker, _, tail = rest.partition("]\n")
    assert "were dropped here" in marker
    assert (head, tail) == (TEXT[:start], TEXT[end:])
    assert len(whole.content) <= LIMIT + 100
    for first, last in ((0, 20), (end, end + 20), (len(TEXT) - 20, len(TEXT) - 1)):
        answer = me.get(raw, headers={"Range": f"bytes={first}-{last}"})
        assert (answer.status_code, answer.text) == (206, TEXT[first : last + 1])
    assert me.get(raw, headers={"Range": f"bytes={start - 5}-{end}"}).text == TEXT[start - 5 : start]
    assert me.get(raw, headers={"Range": f"bytes=-{len(TEXT)}"}).text == TEXT[:start]
    assert me.get(raw, headers={"Range": f"bytes=-{len(TEXT) - start}"}).text == TEXT[end:]
    refused = me.get(raw, headers={"Range": f"bytes={end - 1}-"})
    assert f"bytes={end}-" in problem(refused, 416, "dropped")["hint"]
    assert refused.headers["content-range"] == f"bytes */{len(TEXT)}"

    events = stream(me, job)
    assert "".join(event.data["text"] for event in events) == whole.text
    assert events[-1].data["offset"] + len(events[-1].data["text"]) == len(TEXT)
    before = next(event for event in events if event.data["offset"] == start)
    after = stream(me, job, after=before.id)
    assert (after[0].data["offset"], "".join(event.data["text"] for event in after)) == (end, tail)
    assert stream(me, job, "tail=2")[0].data["text"] == f"line {LAST - 1}\nline {LAST}\n"
    assert stream(me, job, f"tail={LAST}")[0].data["offset"] == start
    if is_running:
        ok(me.post(f"/jobs/{job}/kill", {"grace": "0s"}), 202)


def test_the_limit_is_shown_as_a_quota(me: Caller) -> None:
    quotas = {one["kind"]: one["limit"] for one in me.get("/quotas").json()["items"]}
    assert quotas["taskLogBytes"] == LIMIT


def dropped(me: Caller, raw: str) -> tuple[int, int]:
    """Wait until all is printed, and bytes are dropped for the last time. Where they are is found by asking."""
    for _ in polls(60):
        try:
            answer = me.get(raw, headers={"Range": f"bytes={len(TEXT) - LIMIT - 1}-"})
        except httpx.RemoteProtocolError:
            continue  # some of it was dropped before it was sent
        size = answer.headers.get("content-range", "").rpartition("/")[2]
        if answer.status_code == 416 and size == str(len(TEXT)):
            end = int(problem(answer, 416, "dropped")["hint"].partition("bytes=")[2].partition("-")[0])
            return len(me.get(raw, headers={"Range": f"bytes=0-{end}"}).content), end
    raise AssertionError("nothing was dropped")


def stream(me: Caller, job: str, query: str = "", after: str | None = None) -> list[Sse]:
    with me.stream(f"/jobs/{job}/logs?{query}", after=after) as events:
        return [event for event in events if event.event == "log"]
