"""Does what a rule says about what it has found. Each act may be done again after a crash: a node is cordoned once, an
ended job is not stopped, and only the attempt that the alert was about is started again."""

from dataclasses import replace
from typing import assert_never

import structlog

from muster.domain.alerting.alert_conditions import node_of
from muster.domain.alerting.alert_records import AlertRecord
from muster.domain.alerting.alert_rules import AlertAction
from muster.domain.errors import MusterError, StaleWrite, Unavailable
from muster.domain.jobs import Outcome, Running, Starting, Verdict
from muster.engine.context import Context
from muster.engine.lifecycle.completion import stop
from muster.engine.nodes.administration import cordon
from muster.engine.requests.commands import kill
from muster.engine.requests.relabelling import relabel
from muster.engine.stacks.collecting import collect
from muster.engine.stacks.keeping import keep
from muster.engine.state.event_builders import audit_event
from muster.ports.store import Change

_log = structlog.get_logger("engine.alerting")
_MOST_RESTARTS = 3
"""Rules start a job again at most so often: one that hangs each time would hold its GPUs for ever."""
LABEL = "alert"
"""The label of jobs that a rule tags; its value is the name of the rule."""


def actor_of(rule: str) -> str:
    """Who the audit log says has acted."""
    return f"alert:{rule}"


async def acted(context: Context, record: AlertRecord) -> AlertRecord:
    """The record after everything that is to be done was tried. What only failed because the store did not answer is
    left to be done."""
    left, done = [], list(record.done)
    for action in record.todo:
        try:
            said = await _act(context, record, action)
        except (Unavailable, StaleWrite) as error:
            _log.warning("an action could not be done, and is tried again", action=str(action), error=str(error))
            left.append(action)
        except MusterError as error:
            done.append(f"{action}: not done, {error.message}")
        else:
            done.append(f"{action}: {said}")
    return replace(record, todo=tuple(left), done=tuple(done))


async def _act(context: Context, record: AlertRecord, action: AlertAction) -> str:
    subject, actor = record.subject, actor_of(record.rule)
    match action:
        case AlertAction.CORDON:
            if (subject.cluster, node_of(subject)) in context.marks:
                return "the node was cordoned or drained already"
            await cordon(context, subject.cluster, node_of(subject), record.message, actor)
            return "done"
        case AlertAction.STOP:
            await kill(context, subject.id, actor)
            return "done"
        case AlertAction.TAG:
            await relabel(context, subject.id, actor, lambda labels: {**labels, LABEL: record.rule})
            return "done"
        case AlertAction.STACKS:
            return await _keep_stacks(context, record, actor)
        case AlertAction.RESTART:
            return await _restart(context, record, actor)
        case AlertAction.NOTIFY | AlertAction.MAIL_OWNER:
            return "queued"
        case _:
            assert_never(action)


async def _keep_stacks(context: Context, record: AlertRecord, actor: str) -> str:
    entry = context.open_jobs.get(record.subject.id)
    if entry is None or entry.job.attempt != record.attempt:
        return "that attempt has ended already"
    stacks = await collect(context, entry.job, None, actor)
    try:
        await keep(context, entry.job, stacks)
    except OSError as error:
        return f"could not be kept: {error.strerror}"
    good = [one.task for one in stacks.tasks if not one.problem]
    bad = [f"{one.task}: {one.problem}" for one in stacks.tasks if one.problem]
    kept_of = (
        f"kept of {', '.join(good)}: `muster stacks {entry.job.name} --kept`" if good else "none could be collected"
    )
    return "; ".join([kept_of, *bad[:3]])


async def _restart(context: Context, record: AlertRecord, actor: str) -> str:
    """Put the whole gang back into the queue, which counts as no failure of the job."""
    entry = context.open_jobs.get(record.subject.id)
    if entry is None:
        return "the job has ended"
    async with entry.lock:
        job = entry.job
        if job.attempt != record.attempt or not isinstance(job.state, Starting | Running):
            return "that attempt has ended already"
        earlier = await context.store.events(job_id=job.id, prefix="audit.job.restart", limit=_MOST_RESTARTS)
        if len(earlier) >= _MOST_RESTARTS:
            return f"not done, rules have started the job again {_MOST_RESTARTS} times already"
        now = context.clock()
        await context.apply(Change(events=[audit_event("job.restart", actor, now, job=job, reason=record.message)]))
        await stop(context, entry, Verdict(Outcome.PREEMPT, f"started again by {actor}: {record.message}"))
    return "done"
