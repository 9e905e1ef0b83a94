"""What notices say: both languages say the same, with all names and figures."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.alerting.alert_conditions import conditions
from muster.domain.alerting.alert_facts import Facts, JobFacts
from muster.domain.alerting.alert_records import AlertPhase, AlertRecord, advanced
from muster.domain.alerting.alert_rules import AlertRule, Check
from muster.domain.alerting.alerts import Alert, AlertKind, Severity, Subject, SubjectType
from muster.domain.failures.fault_table import fault_table_markdown
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import Cancelled, Failed, Job
from muster.engine.alerting.condition_words import CONDITIONS
from muster.engine.alerting.fault_words import FAULTS_ZH
from muster.engine.alerting.reason_words import reason_of
from muster.engine.alerting.sentences import first_complete
from muster.engine.alerting.telling import alert_notice, in_language, job_notice
from muster.engine.alerting.words import WORDS
from tests.parts.building import a_job
from tests.unit.domain.test_alert_conditions import HOLDS

pytestmark = pytest.mark.fast
PORTAL = Path(__file__).parents[3] / "portal" / "src" / "words"
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")


def fired(facts: Facts, rule: AlertRule) -> AlertRecord:
    (record,) = advanced([], conditions([rule], facts), [rule], [], 0.0, lambda: "a1").fired
    return record


def said(facts: Facts, rule: AlertRule, language: str = "zh") -> str:
    return alert_notice(fired(facts, rule), {rule.name: rule}, "mail", language, 0.0).text


def test_both_languages_have_the_same_sentences_with_the_same_values() -> None:
    def holes(text: str) -> set[str]:
        return set(re.findall(r"{(\w+)}", text))

    assert WORDS["en"].keys() == WORDS["zh"].keys()
    assert {key for key in WORDS["en"] if holes(WORDS["en"][key]) != holes(WORDS["zh"][key])} == set()


def test_every_check_and_every_fault_has_its_sentences() -> None:
    assert CONDITIONS["zh"].keys() == set(Check)
    assert FAULTS_ZH.keys() == set(re.findall(r"^\| `([\w-]+)` \|", fault_table_markdown(), re.MULTILINE))


def test_faults_are_told_as_the_portal_tells_them() -> None:
    page = (PORTAL / "faultsZh.ts").read_text().replace('\\"', '"')
    assert [one for sentences in FAULTS_ZH.values() for one in sentences if f'"{one}"' not in page] == []


@pytest.mark.parametrize("check", Check)
def test_a_notice_in_chinese_has_the_message_and_the_advice_in_chinese(check: Check) -> None:
    facts, _ = HOLDS[check]
    if facts.alerts:
        facts = replace(facts, alerts=tuple(replace(alert, advice="do something about it") for alert in facts.alerts))
    limits = {Check.CERTIFICATE: 40, Check.GPU_IDLE: 5}
    text = said(facts, AlertRule("R", check, threshold=limits.get(check, 2)))
    assert "建议：" in text
    assert ENGLISH.search(re.sub("`.*?`", "", text)) is None
    assert "{" not in text


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (Check.NODE_DISK, "节点 n1 的磁盘使用率为 80 %，上限为 60 %。"),
        (Check.GPU_FOREIGN_PROCESS, "GPU n1/3 被 Muster 之外的进程占用：python (pid 7)。"),
        (Check.JOB_HUNG, "作业 train 有 1 个任务停滞（worker-1）："),
        (Check.JOB_WAITING, "amy 的作业 a 一直在等待。"),
    ],
)
def test_limits_and_names_are_told_in_chinese_too(check: Check, expected: str) -> None:
    assert said(HOLDS[check][0], AlertRule("R", check, threshold=60)).startswith(expected)


def test_a_list_shows_alerts_in_the_language_that_it_asks_for_and_else_as_they_are() -> None:
    rule = AlertRule("R", Check.NODE_DISK, threshold=60)
    record = fired(HOLDS[Check.NODE_DISK][0], rule)
    chinese = in_language(record, {"R": rule}, "zh")
    assert (chinese.message, chinese.advice) == (
        "节点 n1 的磁盘使用率为 80 %，上限为 60 %",
        "清理 n1 上不再需要的文件",
    )
    assert in_language(record, {"R": rule}, "en") == record
    assert in_language(record, {}, "zh") == record


def needs_action(**numbers: int | float | str) -> Facts:
    alert = Alert(
        AlertKind.JOB_NEEDS_ACTION,
        Severity.WARNING,
        Subject(SubjectType.JOB, "train", "lab", "j1"),
        "job train does not start by itself: it asks for too much",
        "ask for less",
        numbers=numbers,
    )
    return Facts(0.0, jobs=(JobFacts("j1", "train", "amy", "lab", 1),), alerts=(alert,))


def test_why_a_job_needs_action_is_told_by_its_code_if_that_is_known() -> None:
    rule = AlertRule("R", Check.JOB_NEEDS_ACTION)
    assert said(needs_action(code="never"), rule).startswith("作业 train 不会启动：集群无法满足其要求。")
    queued = needs_action(code="engine-stuck", cluster="hpc", said="QOSMaxCpu")
    assert said(queued, rule).startswith("作业 train 在 lab 的队列中无法启动：QOSMaxCpu。")
    assert said(needs_action(code="brand-new"), rule).startswith("作业 train 需要有人处理才能启动。")
    assert "What to do: ask for less." in said(needs_action(code="never"), rule, "en")


def test_an_alert_whose_rule_is_gone_is_told_in_its_own_words() -> None:
    record = replace(fired(HOLDS[Check.NODE_DISK][0], AlertRule("R", Check.NODE_DISK, threshold=60)), advice="clean up")
    text = alert_notice(record, {}, "mail", "zh", 0.0).text
    assert text.startswith("The disk of node n1 is at 80 %, and 60 % is the limit。")
    over = replace(record, phase=AlertPhase.RESOLVED, resolved_at=1.0)
    assert "clean up" not in alert_notice(over, {}, "mail", "zh", 1.0).text


def test_a_server_certificate_that_has_ended_is_not_told_with_days() -> None:
    rule = AlertRule("R", Check.CERTIFICATE, threshold=30)
    assert said(Facts(86400.0 * 5, certificate_ends_at=0.0), rule).startswith("服务器证书已到期。")


def failed(code: str, cause: str, **words: str) -> Job:
    job = a_job()
    return replace(job, state=Failed(1.0, Fault(FaultKind.USER, code, cause, "", words=words)), reason=cause)


def cancelled(reason: str, by: str) -> Job:
    return replace(a_job(), state=Cancelled(1.0, by), reason=reason)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (failed("missing-module", "The module torch is not installed.", module="torch"), "未安装 Python 模块 torch。"),
        (failed("memory", "The task used more memory."), "程序申请的内存超过可用的内存。"),
        (failed("brand-new", "Something new happened."), "Something new happened."),
        (cancelled("killed by bob", "bob"), "被 bob 终止"),
        (
            cancelled("stopped early: its best of 0.5 at step 3 is worse than the median 0.7 of 4", "sweep"),
            "提前停止：第 3 步时的最佳值 0.5 不及 4 个成员的中位数 0.7",
        ),
        (cancelled("scancel by hand", "slurm"), "scancel by hand"),
    ],
)
def test_why_a_job_ended_is_told_in_chinese_if_that_is_known(job: Job, expected: str) -> None:
    assert reason_of(job, "zh") == expected
    assert reason_of(job, "en") == job.reason
    text = job_notice(job, "failed", "mail", "zh", 2.0, "u", "http://m", 0.0).text
    assert f"后失败：{expected}" in text


def test_a_sentence_is_complete_only_with_all_its_names() -> None:
    sentences = ("{a} and {b}", "{c|b} alone")
    assert first_complete(sentences, {"a": 1, "b": "two"}) == "1 and two"
    assert first_complete(sentences, {"a": "", "b": "two {a}"}) == "two {a} alone"
    assert first_complete(sentences, {"a": 1}) == ""
