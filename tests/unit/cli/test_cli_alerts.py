"""What `muster alerts` shows."""

from typing import Any

import pytest

from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer

pytestmark = pytest.mark.fast

AT = "2026-01-01T00:00:00Z"
SILENCE = {
    "id": "s1",
    "rule": "NodeDisk",
    "subject": "*",
    "reason": "new disk",
    "by": "root",
    "createdAt": AT,
    "until": "2026-01-01T12:00:00Z",
}


def an_alert(**more: Any) -> dict[str, Any]:
    subject = {"type": "node", "name": "n1", "cluster": "lab", "id": None}
    known = {"id": "a1", "rule": "NodeDisk", "severity": "warning", "subject": subject, "state": "firing"}
    return {**known, "message": "the disk is full", "since": AT, "told": True, "done": [], **more}


def listed(server: TinyServer, alert: dict[str, Any]) -> tuple[str, str]:
    server.on("GET", "/alerts/firing", Answer(200, {"items": [alert]}))
    outcome = muster(server, "alerts", "list")
    assert outcome.code == 0, outcome.err
    return outcome.out, outcome.err


def test_a_silenced_alert_says_until_when_and_by_whom(server: TinyServer) -> None:
    server.on("GET", "/alerts/silences", Answer(200, {"items": [SILENCE, {**SILENCE, "id": "s2"}]}))
    out, err = listed(server, an_alert(silencedBy="s1", told=False))
    assert "silenced" in out
    assert "firing" not in out
    assert "silence s1 of NodeDisk until 202" in err
    assert "by root: new disk" in err
    assert "s2" not in err


def test_an_alert_that_is_told_is_not_called_silenced(server: TinyServer) -> None:
    out, err = listed(server, an_alert())
    assert "firing" in out
    assert "silence" not in out + err


def test_an_alert_that_has_ended_is_not_called_silenced(server: TinyServer) -> None:
    ended = an_alert(state="resolved", resolvedAt=AT, silencedBy="s1")
    server.on("GET", "/alerts/history", Answer(200, {"items": [ended]}))
    outcome = muster(server, "alerts", "history", "-o", "wide")
    assert (outcome.code, "silenced" in outcome.out) == (0, False)
    assert "resolved" in outcome.out


def test_an_alert_whose_notice_waits_for_the_end_of_quiet_hours_is_called_held(server: TinyServer) -> None:
    held = an_alert(told=False, heldUntil="2026-01-01T12:00:00Z")
    server.on("GET", "/alerts/firing", Answer(200, {"items": [held]}))
    assert "held until 2026-01-0" in muster(server, "alerts", "list", "-o", "wide").out


def test_whoever_may_not_see_silences_still_sees_that_an_alert_is_silenced(server: TinyServer) -> None:
    out, err = listed(server, an_alert(silencedBy="s1"))
    assert "silenced" in out
    assert "s1" not in err


def test_a_wrong_file_of_rules_is_told_also_if_no_alert_fires(server: TinyServer) -> None:
    server.on("GET", "/alerts/firing", Answer(200, {"items": []}))
    wrong = "alerts.yaml, line 3: rules.Disk.treshold: is unknown"
    server.on("GET", "/alerts/rules", Answer(200, {"items": [], "problems": [wrong], "ways": []}))
    outcome = muster(server, "alerts", "list")
    assert (outcome.code, outcome.out) == (0, "")
    assert f"warning: {wrong}; the rules of before hold" in outcome.err
