"""What notices say: both languages say the same, and nothing that others wrote becomes HTML or another line."""

import re
from dataclasses import replace
from typing import Any

import pytest

from muster.monitor.outcomes import Reason, ReasonCode, Step
from muster.monitor.reason_text import reason_text
from muster.monitor.stories import (
    Availability,
    DigestStory,
    Failed,
    FailureStory,
    Figures,
    Recovered,
    RecoveryStory,
    TrialStory,
)
from muster.monitor.telling import Teller
from muster.monitor.words import WORDS, Language, Words

pytestmark = pytest.mark.fast

DETAILS = {"host": "h", "seconds": "15", "words": "it says no", "url": "https://u", "status": "500", "state": "Failed"}
EN, ZH = Teller("en", "UTC", "watcher"), Teller("zh", "Asia/Shanghai", "watcher")
REFUSED = Reason(ReasonCode.REFUSED, Step.CONNECT)
LINE = {
    "jobs": 12,
    "gpuHours": 40.5,
    "idleGpuHours": 3.0,
    "unmeasuredGpuHours": 0.0,
    "gpuPercent": 30.7,
    "cpuHours": 100.0,
    "usedCpuHours": 50.0,
    "medianWaitS": 125.0,
    "p95WaitS": 7200.0,
    "failures": {"platform": 1, "user": 2},
    "slowness": None,
}


def test_both_languages_have_the_same_sentences_with_the_same_values() -> None:
    def holes(text: str) -> set[str]:
        return set(re.findall(r"{(\w+)}", text))

    assert WORDS["en"].keys() == WORDS["zh"].keys()
    assert {key for key in WORDS["en"] if holes(WORDS["en"][key]) != holes(WORDS["zh"][key])} == set()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("code", list(ReasonCode))
@pytest.mark.parametrize("step", list(Step))
def test_every_reason_is_one_sentence(language: Language, code: ReasonCode, step: Step) -> None:
    said = reason_text(Reason(code, step, DETAILS), Words(language))
    assert said
    assert "\n" not in said
    assert "{" not in said


def test_a_reason_of_an_older_version_is_told_anyway() -> None:
    assert reason_text(Reason(ReasonCode.UNAVAILABLE, Step.WRITE), Words("en")).endswith("asking it to write: ?")


def test_a_failure_says_who_since_when_and_why() -> None:
    story = FailureStory("1id", 0.0, (Failed("gpu1", "http://gpu1:7070", REFUSED, 3600.0, 2),), 3)
    notice = EN.notice(story)
    assert notice.title == "[Muster] gpu1 is down"
    assert notice.text.startswith(
        "gpu1 (http://gpu1:7070) is down since 1970-01-01 01:00:00 UTC: the connection was refused"
    )
    assert "Notice 1id, sent by muster monitor on watcher." in notice.text
    assert "1970-01-01 09:00:00 CST" in ZH.notice(story).text
    assert "连接被拒绝" in ZH.notice(story).text


def test_a_recovery_says_how_long_it_lasted() -> None:
    story = RecoveryStory("1id", 0.0, (Recovered("gpu1", "http://gpu1", REFUSED, 0.0, 3700.0),), ("gpu2",))
    assert EN.notice(story).title == "[Muster] gpu1 works again, after 1h 1m"
    assert "Still down: gpu2." in EN.notice(story).text
    assert "All receivers work." in EN.notice(replace(story, still_down=())).text
    assert "仍有故障：gpu2" in ZH.notice(story).text


def test_several_receivers_are_counted() -> None:
    items = tuple(Failed(name, f"http://{name}", REFUSED, 0.0, 1) for name in "ab")
    assert EN.notice(FailureStory("1", 0.0, items, 5)).title == "[Muster] 2 of 5 receivers are down"
    assert "5 个接收端中有 2 个" in ZH.notice(FailureStory("1", 0.0, items, 5)).title


def test_what_others_wrote_is_escaped() -> None:
    evil = '<script>alert(1)</script>&"'
    reason = Reason(ReasonCode.UNAVAILABLE, Step.READY, {"words": evil, "status": "503"})
    notice = EN.notice(FailureStory("1", 0.0, (Failed(evil, "http://x", reason, 0.0, 1),), 1))
    assert "<script" not in notice.html
    assert "&lt;script&gt;" in notice.html
    assert evil in notice.text


def test_a_test_notice_says_that_it_is_one() -> None:
    assert "This is a test" in EN.notice(TrialStory("1", 0.0, ("a", "b"))).text
    assert "测试" in ZH.notice(TrialStory("1", 0.0, ("a", "b"))).title


def a_digest(**figures: Any) -> DigestStory:
    users = [{**LINE, "group": "li"}, {**LINE, "group": "<b>bo", "gpuHours": 4.0}]
    nodes = [{**LINE, "group": "n1", "slowness": 1.5}, {**LINE, "group": "n2", "failures": {}, "slowness": 1.0}]
    alerts = [
        {"kind": "gpu-out-of-service", "subject": {"type": "gpu", "name": "n2/3"}, "message": "GPU 3 of n2"},
        {"kind": "idle-allocation", "subject": {"type": "job", "name": "j"}, "message": "j holds 4 GPUs and idles"},
    ]
    known = Figures(
        ("gpu1", "gpu2"),
        None,
        {"items": users, "total": {**LINE, "group": ""}, "by": "user", "since": "a", "until": "b", "idleBelow": 10.0},
        {"items": nodes},
        {"items": alerts},
        7,
    )
    rows = (Availability("gpu1", 10080, 1, 1, 61.0, False), Availability("gpu2", 0, 0, 0, 0.0, False))
    return DigestStory("1id", 7 * 86400.0, 0.0, rows, (replace(known, **figures),))


@pytest.fixture(autouse=True)
def without_converters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser would take seconds for each picture."""
    monkeypatch.setenv("PATH", "")


def test_a_digest_says_how_the_week_was() -> None:
    notice = EN.notice(a_digest())
    assert notice.title == "[Muster] Week until 1970-01-08 00:00:00 UTC: jobs 12, GPU hours 40"
    for expected in (
        "99.99 % of 10080 checks were good; outages: 1, 1m 1s in all",
        "not checked yet",
        "Figures of gpu1, gpu2",
        "median wait 2m 5s, 95th percentile 2h; waiting now: 7",
        "1.50 times as long",
        "failed jobs: 1, alerts now: 0",
        "failed jobs: 0, alerts now: 1",
        "j holds 4 GPUs and idles",
    ):
        assert expected in notice.text, expected
    assert re.search(r"li +█{24} 40 h", notice.text)
    assert [picture.media_type for picture in notice.pictures] == ["image/svg+xml"]


def test_a_digest_as_html_has_bars_and_escapes_names() -> None:
    notice = EN.notice(a_digest())
    assert 'bgcolor="#0072b2" width="240"' in notice.html
    assert "&lt;b&gt;bo" in notice.html
    assert "<b>bo" not in notice.html
    assert b"&lt;b&gt;bo" in notice.pictures[0].content


def test_a_digest_in_chinese() -> None:
    notice = ZH.notice(a_digest())
    assert "12 个作业" in notice.title
    assert "等待时间中位数 2m 5s" in notice.text


def test_a_digest_without_figures_says_why_and_has_availability() -> None:
    notice = EN.notice(a_digest(problem=REFUSED))
    assert notice.title == "[Muster] Week until 1970-01-08 00:00:00 UTC"
    assert "There are no figures: the connection was refused" in notice.text
    assert "99.99 %" in notice.text


def test_answers_of_another_version_break_no_digest() -> None:
    notice = EN.notice(a_digest(by_user={"items": [{}], "total": {"failures": {"new": 3}}}, by_node={}, alerts={}))
    assert "new" in notice.text
    assert notice.pictures == ()
