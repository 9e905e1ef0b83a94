"""Rules over the real engine: what fires is kept, told once, acted upon and audited, also over a crash."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.alerting.alert_records import AlertPhase, AlertRecord, Silence
from muster.domain.alerting.alert_rules import AlertAction, AlertRule, Check
from muster.domain.alerting.alerts import Severity
from muster.domain.alerting.notices import ADMINS, NoticeSettings, NoticeTopic, QueuedNotice, quiet_hours
from muster.domain.errors import Unreachable
from muster.domain.log_times import LogTimes
from muster.domain.nodes import Mark
from muster.engine.alerting.facts import gpu_facts
from muster.engine.alerting.rounds import Rounds
from muster.engine.requests import commands
from muster.engine.stacks.keeping import kept
from muster.ports.alerting import AdminWay, RuleBook
from muster.ports.capabilities import CommandEnd, CommandOutput, NodeUsage, TaskRef, TaskUsage, Terminal
from muster.ports.notifying import Notifier
from muster.ports.store import AlertingChange, Change, TriedNotice
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
LOST = AlertRule("NodeNotReady", Check.NODE_UNREACHABLE, Severity.CRITICAL, for_s=60, keep_s=30)
HUNG = AlertRule("JobHung", Check.JOB_HUNG, threshold=2, for_s=60, keep_s=0)
WAITS = AlertRule("PaiJobPending", Check.JOB_WAITING, for_s=60, keep_s=0, actions=(AlertAction.MAIL_OWNER,))


@dataclass
class Rules:
    """Implements AlertSource with rules that the test changes."""

    made: RuleBook = field(default_factory=lambda: RuleBook((LOST,), (AdminWay("mail"),), has_mail=True))

    def book(self) -> RuleBook:
        return self.made

    def use(self, *rules: AlertRule) -> None:
        self.made = replace(self.made, rules=rules)

    def admin_notifier(self, _way: str) -> Notifier | None:
        return None

    def user_notifier(self, _kind: str, _address: str) -> Notifier | None:
        return None

    def certificate_ends_at(self) -> float | None:
        return None


@pytest.fixture
def rules() -> Rules:
    return Rules()


def rounds_of(lab: Laboratory, rules: Rules) -> Rounds:
    return Rounds(lab.context, rules, "http://muster.example.org", lambda: None, lambda: lab.steady)


async def later(lab: Laboratory, rounds: Rounds, *steps_s: float) -> None:
    for step in steps_s:
        lab.pass_time(step)
        await rounds.round()


async def to_admins(lab: Laboratory) -> list[str]:
    return [one.title for one in reversed(await lab.context.store.notices_of(ADMINS, limit=100))]


async def audited(lab: Laboratory) -> list[str]:
    return [event.kind.removeprefix("audit.") for event in await lab.events() if event.kind.startswith("audit.")]


async def test_a_lost_node_is_told_once_and_its_return_once(lab: Laboratory, rules: Rules) -> None:
    rounds = rounds_of(lab, rules)
    lab.backend.leave("n1")
    await later(lab, rounds, 0, 30, 29)
    assert await to_admins(lab) == []
    await later(lab, rounds, 31, 60, 60)
    assert await to_admins(lab) == ["[Muster] NodeNotReady: n1"]
    lab.backend.come_back("n1")
    await later(lab, rounds, 1, 31, 60)
    assert await to_admins(lab) == ["[Muster] NodeNotReady: n1", "[Muster] NodeNotReady is over: n1"]
    assert [kind for kind in await audited(lab) if kind.startswith("alert.")] == ["alert.fire", "alert.resolve"]
    (past,) = await lab.context.store.alert_history(owner=None, since=0, until=1e12, rule=None, limit=10)
    assert past.resolved_at is not None
    assert past.is_told


async def test_a_mistake_in_telling_users_does_not_end_the_evaluation_of_rules(lab: Laboratory, rules: Rules) -> None:
    rules.made = replace(rules.made, interval_s=0.01)
    rounds, calls = rounds_of(lab, rules), 0

    async def wrong() -> None:
        nonlocal calls
        calls += 1
        rounds.jobs.ended.set()
        raise ValueError("a mistake")

    rounds.jobs.tell = wrong  # type: ignore[method-assign]
    rounds.jobs.ended.set()
    running = asyncio.create_task(rounds.run())
    async with asyncio.timeout(60):
        while calls < 5 and not running.done():
            await asyncio.sleep(0.01)
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_server_that_dies_and_comes_back_tells_nothing_twice(lab: Laboratory, rules: Rules) -> None:
    lab.backend.leave("n1")
    rounds = rounds_of(lab, rules)
    await later(lab, rounds, 0, 30)
    await lab.restart()
    lab.backend.leave("n1")
    rounds = rounds_of(lab, rules)
    await later(lab, rounds, 31)
    assert await to_admins(lab) == ["[Muster] NodeNotReady: n1"], "the time before the restart counts"
    for _ in range(2):
        await lab.restart()
        lab.backend.leave("n1")
        await later(lab, rounds_of(lab, rules), 20, 20)
    assert await to_admins(lab) == ["[Muster] NodeNotReady: n1"]
    lab.backend.come_back("n1")
    await later(lab, rounds_of(lab, rules), 1, 31)
    assert len(await to_admins(lab)) == 2


async def test_an_alert_of_a_former_user_stays_theirs_when_it_is_over(lab: Laboratory, rules: Rules) -> None:
    rules.use(replace(WAITS, keep_s=30))
    rounds, store = rounds_of(lab, rules), lab.context.store
    amy = User("amy", UserRole.USER, 1.0, id="u-1")
    await store.apply(Change(new_user=amy))
    await lab.submit(a_spec(a_role(cpu=8), name="first"))
    job_id = await lab.submit(a_spec(a_role(cpu=8), name="second"))
    await later(lab, rounds, 0, 61)
    await commands.kill(lab.context, job_id, "root")
    await store.apply_all([Change(removed_user="amy"), Change(new_user=replace(amy, id="u-2"))])
    await later(lab, rounds, 1, 31)
    (record,) = await store.alert_history(owner=None, since=0.0, until=lab.now + 1, rule=None, limit=9)
    assert (record.phase, record.owner) == (AlertPhase.RESOLVED, "amy~u-1")


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
async def test_a_clock_that_is_set_makes_an_alert_fire_neither_early_nor_late(
    lab: Laboratory, rules: Rules, jump_s: float
) -> None:
    rounds = rounds_of(lab, rules)
    lab.backend.leave("n1")
    await later(lab, rounds, 0, 30)
    lab.set_clock(jump_s)
    await later(lab, rounds, 0, 29)
    assert await to_admins(lab) == []
    await later(lab, rounds, 1)
    assert await to_admins(lab) == ["[Muster] NodeNotReady: n1"]
    lab.backend.come_back("n1")
    await later(lab, rounds, 1, 15)
    lab.set_clock(jump_s)
    await later(lab, rounds, 0, 14)
    assert len(await to_admins(lab)) == 1
    await later(lab, rounds, 1)
    assert set(await to_admins(lab)) == {"[Muster] NodeNotReady: n1", "[Muster] NodeNotReady is over: n1"}


async def test_a_notice_is_sent_again_as_soon_also_if_the_clock_is_set_back(lab: Laboratory, rules: Rules) -> None:
    rounds = rounds_of(lab, rules)
    lab.backend.leave("n1")
    await later(lab, rounds, 0, 60)
    store, now = lab.context.store, lab.context.clock()
    (notice,) = await store.due_notices(now, limit=9)
    tried = TriedNotice(replace(notice, tries=1), now + 10)
    await lab.context.apply(Change(alerting=AlertingChange(tried_notices=[tried])))
    lab.set_clock(-86400.0)
    await later(lab, rounds, 0)
    assert await store.due_notices(lab.context.clock() + 9, limit=9) == []
    assert len(await store.due_notices(lab.context.clock() + 10, limit=9)) == 1


async def test_a_silence_and_its_end(lab: Laboratory, rules: Rules) -> None:
    rounds = rounds_of(lab, rules)
    silence = Silence("s1", "*", "n1", "new disk", "root", lab.now, lab.now + 500)
    await lab.context.store.apply(Change(alerting=AlertingChange(silence=silence)))
    lab.backend.leave("n1")
    await later(lab, rounds, 0, 61, 61)
    (record,) = await lab.context.store.open_alerts()
    assert (record.silenced_by, record.is_told, await to_admins(lab)) == ("s1", False, [])
    await lab.context.store.apply(Change(alerting=AlertingChange(removed_silence="s1")))
    await later(lab, rounds, 10)
    assert await to_admins(lab) == ["[Muster] NodeNotReady: n1"]


async def test_the_end_of_an_alert_is_not_told_while_it_is_silenced(lab: Laboratory, rules: Rules) -> None:
    rounds = rounds_of(lab, rules)
    lab.backend.leave("n1")
    await later(lab, rounds, 0, 61)
    silence = Silence("s1", "*", "n1", "new disk", "root", lab.now, lab.now + 500)
    await lab.context.store.apply(Change(alerting=AlertingChange(silence=silence)))
    lab.backend.come_back("n1")
    await later(lab, rounds, 1, 31, 600)
    assert await to_admins(lab) == ["[Muster] NodeNotReady: n1"]
    assert "alert.resolve" in await audited(lab)


async def test_quiet_hours_hold_back_what_is_not_critical(lab: Laboratory, rules: Rules) -> None:
    hours = quiet_hours("00:00-23:59")
    rules.made = replace(rules.made, quiet=hours, rules=(LOST, replace(LOST, name="Mild", severity=Severity.WARNING)))
    lab.backend.leave("n1")
    await later(lab, rounds_of(lab, rules), 0, 61)
    found = {one.title: one for one in await lab.context.store.notices_of(ADMINS, limit=10)}
    assert found["[Muster] NodeNotReady: n1"].not_before <= lab.now
    assert found["[Muster] Mild: n1"].not_before > lab.now
    held = {one.rule: one.held_until for one in await lab.context.store.open_alerts()}
    assert held == {"NodeNotReady": None, "Mild": found["[Muster] Mild: n1"].not_before}
    assert found["[Muster] Mild: n1"].lane != found["[Muster] NodeNotReady: n1"].lane


async def test_a_node_is_cordoned_once_by_the_rule_and_the_audit_says_so(lab: Laboratory, rules: Rules) -> None:
    node = a_node("n1", 8, 32 * GIB, "A100")
    lab.backend.machines[:] = [node, a_node("n2")]
    lab.backend.tell_nodes()
    rules.use(AlertRule("NvidiaSmiDoubleEccError", Check.GPU_ECC, actions=(AlertAction.CORDON,)))
    gpu = {"index": 0, "load": 0.0, "temperature_c": 40, "ecc_errors": 3, "foreign_pids": [], "missing": False}
    lab.backend.measured("n1", NodeUsage(1.0, {"gpus": [gpu]}, {}, lab.now))
    rounds = rounds_of(lab, rules)
    await later(lab, rounds, 0, 1)
    mark = lab.context.marks["lab", "n1"]
    assert (mark.mark, mark.by) == (Mark.CORDONED, "alert:NvidiaSmiDoubleEccError")
    assert (await audited(lab)).count("node.cordon") == 1
    (record,) = await lab.context.store.open_alerts()
    assert (record.todo, record.done) == ((), ("cordon: done",))


async def test_a_gpu_is_lost_where_all_are_listed_and_not_where_those_of_tasks_are() -> None:
    node = a_node("n1", 8, 32 * GIB, "A100", "A100")
    metrics = {"gpus": [{"index": 0, "load": 0.0, "ecc_errors": 0}]}
    assert [gpu.is_lost for gpu in gpu_facts(node, metrics, lists_gpus=True)] == [False, True]
    assert [gpu.is_lost for gpu in gpu_facts(node, metrics, lists_gpus=False)] == [False, False]


@dataclass
class WatchedLogs:
    """The times of logs, which no task of these has written to since it started."""

    async def times(self, _task: TaskRef) -> LogTimes:
        return LogTimes()


class Told:
    """A task that says where it stands, to whoever runs a command in it."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    @asynccontextmanager
    async def run(self, task: TaskRef, argv: Sequence[str], terminal: Terminal | None) -> AsyncIterator[Any]:
        if task.task_id.endswith(".0"):
            raise Unreachable("the node does not answer")
        yield self

    async def output(self) -> AsyncGenerator[CommandOutput | CommandEnd]:
        yield CommandOutput("stdout", self._text)
        yield CommandEnd(0)


async def a_hung_job(lab: Laboratory) -> str:
    lab.backend.log_times = WatchedLogs()
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100", "A100")]
    lab.backend.tell_nodes()
    job_id = await lab.submit(a_spec(a_role(gpus=1, replicas=2), name="train"))
    await lab.becomes(job_id, "Running")
    sample(lab, job_id, 95.0, 0.0)
    return job_id


def sample(lab: Laboratory, job_id: str, *loads: float) -> None:
    gpus = [{"index": index, "load": load, "ecc_errors": 0} for index, load in enumerate(loads)]
    tasks = {f"{job_id}.1.worker.{index}": TaskUsage(1.0, 1, 1) for index in range(len(loads))}
    lab.backend.measured("n1", NodeUsage(lab.now, {"gpus": gpus}, tasks, lab.now))


async def test_a_task_that_does_nothing_while_its_peer_works_is_told_and_the_job_is_tagged(
    lab: Laboratory, rules: Rules
) -> None:
    job_id = await a_hung_job(lab)
    rules.use(replace(HUNG, actions=(AlertAction.NOTIFY, AlertAction.TAG)))
    rounds = rounds_of(lab, rules)
    for _ in range(10):
        lab.pass_time(45)
        sample(lab, job_id, 95.0, 0.0)
        await rounds.round()
    (title,) = await to_admins(lab)
    assert title == "[Muster] JobHung: train"
    (record,) = await lab.context.store.open_alerts()
    assert (record.owner, record.attempt) == ("amy", 1)
    assert "worker-1 of job train does nothing" in record.message.replace("worker.1", "worker-1")
    assert (await lab.job(job_id)).spec.labels["alert"] == "JobHung"
    sample(lab, job_id, 95.0, 90.0)
    await later(lab, rounds, 1)
    assert (await to_admins(lab))[-1] == "[Muster] JobHung is over: train"


async def test_the_stacks_of_a_hung_job_are_kept_before_it_is_stopped(lab: Laboratory, rules: Rules) -> None:
    lab.backend.task_commands = Told(b"in \x1b[2Jall_reduce\n" + b"x" * 300_000)
    job_id = await a_hung_job(lab)
    job = await lab.job(job_id)
    rules.use(replace(HUNG, for_s=0, actions=(AlertAction.STOP, AlertAction.STACKS)))
    lab.pass_time(400)
    sample(lab, job_id, 95.0, 0.0)
    await rounds_of(lab, rules).round()
    await lab.becomes(job_id, "Cancelled")
    stacks, stop = (await the_alert(lab)).done
    assert stacks.startswith("stacks: kept of train-worker-1: `muster stacks train --kept`; train-worker-0: the node")
    assert stop == "stop: done"
    (one,) = await kept(lab.context, job)
    assert (one.by, one.attempt) == ("alert:JobHung", 1)
    text = {task.task: task.text for task in one.tasks}["train-worker-1"]
    assert text.startswith("in ?[2Jall_reduce\n"), "nothing that a terminal would obey"
    assert len(text) < 263_000
    assert (await audited(lab)).count("job.stacks") == 1


async def test_a_gang_of_which_nobody_works_is_told_once_and_a_slow_start_is_not(lab: Laboratory, rules: Rules) -> None:
    job_id = await a_hung_job(lab)
    rules.use(AlertRule("JobStalled", Check.JOB_STALLED, threshold=2, for_s=1800, keep_s=0))
    rounds = rounds_of(lab, rules)
    for load in [0.0] * 20 + [50.0]:
        lab.pass_time(80)
        sample(lab, job_id, load, 0.0)
        await rounds.round()
    assert await to_admins(lab) == [], "what loads its data for half an hour does not hang"
    for _ in range(30):
        lab.pass_time(80)
        sample(lab, job_id, 0.0, 1.0)
        await rounds.round()
    assert await to_admins(lab) == ["[Muster] JobStalled: train"]


async def test_a_hung_job_is_stopped_or_started_again_by_its_rule(lab: Laboratory, rules: Rules) -> None:
    job_id = await a_hung_job(lab)
    rules.use(replace(HUNG, for_s=0, actions=(AlertAction.RESTART,)))
    rounds = rounds_of(lab, rules)
    lab.pass_time(400)
    sample(lab, job_id, 95.0, 0.0)
    await rounds.round()
    job = await lab.becomes(job_id, "Running", attempt=2)
    assert (job.retries, (await audited(lab)).count("job.restart")) == (0, 1)
    repeated = replace(await the_alert(lab), todo=(AlertAction.RESTART,), done=())
    await lab.context.store.apply(Change(alerting=AlertingChange(alerts=[repeated])))
    await rounds_of(lab, rules).round()
    assert (await lab.job(job_id)).attempt == 2, "an act that is repeated after a crash does not touch the new attempt"
    rules.use(replace(HUNG, name="Stop", for_s=0, actions=(AlertAction.STOP,)))
    rounds = rounds_of(lab, rules)
    lab.pass_time(400)
    sample(lab, job_id, 95.0, 0.0)
    await rounds.round()
    stopped = await lab.becomes(job_id, "Cancelled")
    assert stopped.reason == "killed by alert:Stop"


async def test_a_job_that_hangs_each_time_is_started_again_three_times_and_no_more(
    lab: Laboratory, rules: Rules
) -> None:
    job_id = await a_hung_job(lab)
    rules.use(replace(HUNG, for_s=0, actions=(AlertAction.RESTART,)))
    rounds = rounds_of(lab, rules)
    for attempt in (1, 2, 3, 4):
        await lab.becomes(job_id, "Running", attempt=attempt)
        sample(lab, job_id, 95.0, 95.0)
        await rounds.round()
        lab.pass_time(400)
        sample(lab, job_id, 95.0, 0.0)
        await rounds.round()
    assert (await lab.job(job_id)).attempt == 4
    assert (await audited(lab)).count("job.restart") == 3
    assert (await the_alert(lab)).done == ("restart: not done, rules have started the job again 3 times already",)


async def the_alert(lab: Laboratory) -> AlertRecord:
    found = await lab.context.store.alert_history(owner=None, since=0, until=1e12, rule=None, limit=1)
    return found[0]


async def a_user(lab: Laboratory, settings: NoticeSettings) -> None:
    await lab.context.store.apply(Change(new_user=User("amy", UserRole.USER, 0.0, id="u-amy")))
    await lab.context.store.apply(Change(alerting=AlertingChange(settings=settings)))


AMY = NoticeSettings("u-amy", frozenset(NoticeTopic), "amy@example.org", waiting_s=100.0)


async def to_amy(lab: Laboratory) -> Sequence[QueuedNotice]:
    return list(reversed(await lab.context.store.notices_of("u-amy", limit=100)))


async def test_the_owner_of_a_job_that_waits_is_told_by_rule_and_by_wish_and_others_are_not(
    lab: Laboratory, rules: Rules
) -> None:
    await a_user(lab, AMY)
    rules.use(WAITS)
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100")]
    lab.backend.tell_nodes()
    first = await lab.submit(a_spec(a_role(gpus=1), name="first"))
    await lab.becomes(first, "Running")
    await lab.submit(a_spec(a_role(gpus=1), name="second"))
    rounds = rounds_of(lab, rules)
    await later(lab, rounds, 30, 31, 20, 20, 20)
    assert [one.title for one in await to_amy(lab)] == [
        "[Muster] PaiJobPending: second",
        "[Muster] second has been waiting for 1m 41s",
    ]
    assert await to_admins(lab) == []
    await later(lab, rounds_of(lab, rules), 20, 20)
    assert len(await to_amy(lab)) == 2, "another server does not tell it again"


async def test_each_wait_of_a_job_is_told_also_within_one_attempt(lab: Laboratory, rules: Rules) -> None:
    await a_user(lab, AMY)
    rules.use()
    await lab.becomes(await lab.submit(a_spec(a_role(cpu=8), name="first")), "Running")
    second = await lab.submit(a_spec(a_role(cpu=8), name="second"))
    rounds = rounds_of(lab, rules)
    await later(lab, rounds, 101, 20)
    await commands.hold(lab.context, second, "amy")
    await lab.becomes(second, "Held")
    await later(lab, rounds, 500)
    await commands.resume(lab.context, second, "amy")
    await lab.becomes(second, "Queued")
    await later(lab, rounds, 99)
    assert len(await to_amy(lab)) == 1
    await later(lab, rounds, 3, 20)
    assert [one.title for one in await to_amy(lab)] == [
        "[Muster] second has been waiting for 1m 41s",
        "[Muster] second has been waiting for 1m 42s",
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_end_of_a_job_is_told_in_the_language_of_its_owner_and_once(
    lab: Laboratory, rules: Rules, language: str
) -> None:
    await a_user(lab, replace(AMY, language=language))
    rounds = rounds_of(lab, rules)
    await rounds.round()
    job_id = await lab.submit(a_spec(name="train"))
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")
    assert rounds.jobs.ended.is_set()
    await rounds.jobs.tell()
    (told,) = await to_amy(lab)
    assert told.title == {"en": "[Muster] train was stopped", "zh": "[Muster] 作业 train 已停止"}[language]
    assert f"http://muster.example.org/jobs/{job_id}" in told.text
    await rounds_of(lab, rules).jobs.tell()
    assert len(await to_amy(lab)) == 1


async def test_a_job_that_ended_while_no_server_looked_is_told_by_the_next_one(lab: Laboratory, rules: Rules) -> None:
    await a_user(lab, AMY)
    await rounds_of(lab, rules).jobs.tell()
    job_id = await lab.submit(a_spec(name="train"))
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")
    await lab.restart()
    await rounds_of(lab, rules).jobs.tell()
    assert [one.title for one in await to_amy(lab)] == ["[Muster] train was stopped"]


async def test_jobs_that_ended_before_somebody_asked_are_not_told_nor_those_of_others(
    lab: Laboratory, rules: Rules
) -> None:
    await a_user(lab, replace(AMY, changed_at=lab.now + 1000))
    await lab.context.store.apply(Change(new_user=User("bob", UserRole.USER, 0.0, id="u-bob")))
    bob = replace(AMY, user_id="u-bob", mail="bob@example.org")
    await lab.context.store.apply(Change(alerting=AlertingChange(settings=bob)))
    rounds = rounds_of(lab, rules)
    await rounds.round()
    job_id = await lab.submit(a_spec(name="train"))
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")
    await rounds.jobs.tell()
    assert await to_amy(lab) == []
    assert await lab.context.store.notices_of("u-bob", limit=10) == []
