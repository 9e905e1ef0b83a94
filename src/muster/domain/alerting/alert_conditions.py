"""Which rules hold now: a pure function from figures to conditions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from muster.domain.alerting.alert_facts import Facts, GpuFacts, JobFacts, NodeFacts, TaskFacts
from muster.domain.alerting.alert_rules import AlertRule, Check
from muster.domain.alerting.alerts import Alert, AlertKind, Subject, SubjectType

_DAY_S = 86400.0
WORKING_PERCENT = 20.0
"""A task that is busier than this works."""
SILENT_S = 300.0
"""A task that wrote to its log within this time does not hang, however idle it is."""
_SERVER = Subject(SubjectType.SERVER, "server")


@dataclass(frozen=True, slots=True)
class Condition:
    """A rule holds for a subject."""

    rule: str
    subject: Subject
    message: str
    advice: str = ""
    value: float | None = None
    since: float | None = None
    """Since when it holds, if that is known."""
    owner: str = ""
    """The owner of the job that it is about."""
    attempt: int = 0
    words: Mapping[str, str] = field(default_factory=dict)
    """Names and figures of the message besides those above, of which it is made in other languages."""

    @property
    def key(self) -> str:
        return condition_key(self.rule, self.subject)


def condition_key(rule: str, subject: Subject) -> str:
    return f"{rule}:{subject.type}:{subject.id or f'{subject.cluster}/{subject.name}'}"


def node_of(subject: Subject) -> str:
    """The node that an alert is about; empty if it is about none."""
    match subject.type:
        case SubjectType.NODE:
            return subject.name
        case SubjectType.GPU:
            return subject.name.rpartition("/")[0]
        case _:
            return ""


def conditions(rules: Sequence[AlertRule], facts: Facts) -> list[Condition]:
    found = {}
    for rule in rules:
        for condition in _FINDERS[rule.check](rule, facts):
            if watches(rule, condition.subject.cluster):
                found[condition.key] = condition
    return list(found.values())


def watches(rule: AlertRule, cluster: str) -> bool:
    return not rule.clusters or not cluster or any(fnmatchcase(cluster, pattern) for pattern in rule.clusters)


def unknown_subjects(rules: Sequence[AlertRule], facts: Facts) -> Callable[[str, Subject], bool]:
    """Whether nothing is known at this moment about a subject that a rule watches. Its alert then stays as it is: a
    node that is silent has not freed its disk."""
    checks = {rule.name: rule.check for rule in rules}
    joining = {(node.cluster, node.name) for node in facts.nodes if node.is_joining}
    unmeasured = {(node.cluster, node.name) for node in facts.nodes if not node.is_measured}
    jobs = {job.id for job in facts.jobs if not job.is_measured and job.waiting_since is None}

    def is_unknown(rule: str, subject: Subject) -> bool:
        check = checks.get(rule)
        place = (subject.cluster, node_of(subject))
        if check is Check.NODE_UNREACHABLE:
            return place in joining
        if check in (Check.GPU_IDLE, Check.JOB_HUNG, Check.JOB_STALLED):
            return subject.id in jobs
        return bool(place[1]) and place in unmeasured

    return is_unknown


def _unreachable_nodes(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
    for node in facts.nodes:
        if node.is_unreachable:
            why = f": {node.note}" if node.note else ""
            yield Condition(
                rule.name,
                _node(node),
                f"node {node.name} cannot be reached{why}",
                f"check that the machine runs and is on the network; `muster node reconnect {node.name}` tries again",
                since=node.since,
                words={"note": node.note},
            )


def _node_figure(what: str, of: Callable[[NodeFacts], float | None], advice: str) -> "Finder":
    def find(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
        for node in facts.nodes:
            value = of(node) if node.is_measured else None
            if value is not None and value > (rule.threshold or 0.0):
                message = f"{what} of node {node.name} is at {value:.0f} %, and {rule.threshold:g} % is the limit"
                yield Condition(rule.name, _node(node), message, advice.format(node.name), value, words=_limit(rule))

    return find


def _gpu_figure(
    of: Callable[[AlertRule, GpuFacts], float | None], message: Callable[[AlertRule, GpuFacts], str], advice: str
) -> "Finder":
    def find(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
        for node in facts.nodes:
            for gpu in node.gpus if node.is_measured else ():
                if (value := of(rule, gpu)) is not None:
                    subject = Subject(SubjectType.GPU, f"{node.name}/{gpu.index}", node.cluster)
                    named = f"GPU {gpu.index} of node {node.name}"
                    words = {**_limit(rule), "foreign": gpu.foreign}
                    yield Condition(rule.name, subject, f"{named} {message(rule, gpu)}", advice, value, words=words)

    return find


def _limit(rule: AlertRule) -> dict[str, str]:
    return {} if rule.threshold is None else {"limit": f"{rule.threshold:g}"}


def _hot(rule: AlertRule, gpu: GpuFacts) -> float | None:
    return gpu.temperature_c if gpu.temperature_c is not None and gpu.temperature_c > (rule.threshold or 0.0) else None


def _of_alerts(kind: AlertKind) -> "Finder":
    """What the server tells admins anyway."""

    def find(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
        owners = {job.id: job for job in facts.jobs}
        for alert in facts.alerts:
            if alert.kind is kind:
                yield _from_alert(rule, alert, owners.get(alert.subject.id))

    return find


def _from_alert(rule: AlertRule, alert: Alert, job: JobFacts | None) -> Condition:
    return Condition(
        rule.name,
        alert.subject,
        alert.message,
        alert.advice,
        since=alert.since,
        owner="" if job is None else job.owner,
        attempt=0 if job is None else job.attempt,
        words={name: str(value) for name, value in alert.numbers.items()},
    )


def _long_queues(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
    for cluster, count in facts.waiting:
        if count > (rule.threshold or 0.0):
            message = f"{count} jobs wait on cluster {cluster}, and {rule.threshold:g} is the limit"
            subject = Subject(SubjectType.CLUSTER, cluster, cluster)
            advice = f"see `muster queue --cluster {cluster}`"
            yield Condition(rule.name, subject, message, advice, float(count), words=_limit(rule))


def _waiting_jobs(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
    for job in facts.jobs:
        if job.waiting_since is not None:
            advice = f"`muster explain {job.name}` says what it waits for"
            yield _of_job(
                rule, job, f"job {job.name} of {job.owner} is waiting in the queue", advice, since=job.waiting_since
            )


def _hung_jobs(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
    limit = rule.threshold or 0.0
    for job in facts.jobs:
        known = [(task, task.busy_percent) for task in job.tasks if task.busy_percent is not None]
        working = [task for task, busy in known if busy >= WORKING_PERCENT]
        hung = [task for task in job.tasks if _stands_still(task, limit)]
        if working and hung:
            names = ", ".join(task.name for task in hung[:5])
            more = f" and {len(hung) - 5} more" if len(hung) > 5 else ""
            words = {"tasks": names + (", …" if more else "")}
            message = f"{names}{more} of job {job.name} does nothing and writes no log, while others of the job work"
            advice = f"look where its tasks stand: `muster stacks {job.name}`, and at `muster logs {job.name}`"
            yield replace(_of_job(rule, job, message, advice, value=float(len(hung))), words=words)


def _stalled_jobs(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
    """A task of which nothing is known may work, so that a job with one such task does not stand still."""
    for job in facts.jobs:
        if (
            job.tasks
            and not job.is_interactive
            and all(_stands_still(task, rule.threshold or 0.0) for task in job.tasks)
        ):
            who = f"all {len(job.tasks)} tasks of job {job.name} do" if len(job.tasks) > 1 else f"job {job.name} does"
            verb = "write" if len(job.tasks) > 1 else "writes"
            advice = f"look where they stand: `muster stacks {job.name}`; others may wait for what the job holds"
            yield _of_job(rule, job, f"{who} nothing and {verb} no log", advice, value=float(len(job.tasks)))


def _idle_gpus(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
    """Jobs that people use are not left out, nor those that write logs: others may wait for their GPUs all the same.
    If the nodes of a job are not measured, what is known of its whole run decides."""
    measured = {job.id for job in facts.jobs if job.is_measured}
    alerts = tuple(alert for alert in facts.alerts if alert.subject.id not in measured)
    yield from _of_alerts(AlertKind.IDLE_ALLOCATION)(rule, replace(facts, alerts=alerts))
    for job in facts.jobs:
        holding = [task for task in job.tasks if task.gpus]
        loads = [task.busy_percent for task in holding if task.busy_percent is not None]
        if loads and len(loads) == len(holding) and max(loads) <= (rule.threshold or 0.0):
            gpus = sum(task.gpus for task in holding)
            message = f"job {job.name} does not use {'its GPU' if gpus == 1 else f'any of its {gpus} GPUs'}"
            advice = f"look at `muster logs {job.name}`, and end it if nobody needs it: others may wait"
            yield replace(_of_job(rule, job, message, advice, value=max(loads)), words={"gpus": str(gpus)})


def _stands_still(task: TaskFacts, limit: float) -> bool:
    is_idle = task.busy_percent is not None and task.busy_percent <= limit
    return is_idle and task.silent_s is not None and task.silent_s >= SILENT_S


def _of_job(
    rule: AlertRule, job: JobFacts, message: str, advice: str, value: float | None = None, since: float | None = None
) -> Condition:
    subject = Subject(SubjectType.JOB, job.name, job.cluster, job.id)
    return Condition(rule.name, subject, message, advice, value, since, job.owner, job.attempt)


def _certificate(rule: AlertRule, facts: Facts) -> Iterator[Condition]:
    if facts.certificate_ends_at is None:
        return
    days = (facts.certificate_ends_at - facts.now) / _DAY_S
    if days < (rule.threshold or 0.0):
        said = f"ends in {days:.0f} days" if days >= 0 else "has ended"
        advice = "replace the files of tlsCert and tlsKey; the server uses them without a restart"
        words = {"days": f"{days:.0f}"} if days >= 0 else {}
        yield Condition(rule.name, _SERVER, f"the server's certificate {said}", advice, days, words=words)


def _node(node: NodeFacts) -> Subject:
    return Subject(SubjectType.NODE, node.name, node.cluster)


Finder = Callable[[AlertRule, Facts], Iterator[Condition]]
_FINDERS: Mapping[Check, Finder] = {
    Check.NODE_UNREACHABLE: _unreachable_nodes,
    Check.NODE_DISK: _node_figure("the disk", lambda node: node.disk_percent, "remove what nobody needs on {}"),
    Check.NODE_MEMORY: _node_figure("the memory", lambda node: node.memory_percent, "see `muster describe node/{}`"),
    Check.NODE_CPU: _node_figure("the CPU", lambda node: node.cpu_percent, "see `muster describe node/{}`"),
    Check.GPU_ECC: _gpu_figure(
        lambda _, gpu: gpu.ecc_errors or None,
        lambda _, gpu: f"has {gpu.ecc_errors} memory errors that ECC could not correct",
        "reset the GPU or replace it",
    ),
    Check.GPU_LOST: _gpu_figure(
        lambda _, gpu: 1.0 if gpu.is_lost else None,
        lambda _, gpu: "is not listed by its driver any more",
        "look for it in the machine, or restart the node",
    ),
    Check.GPU_TEMPERATURE: _gpu_figure(
        _hot,
        lambda rule, gpu: f"has {gpu.temperature_c:.0f} °C, and {rule.threshold:g} °C is the limit",
        "look at its fans and at the air in the room",
    ),
    Check.GPU_FOREIGN_PROCESS: _gpu_figure(
        lambda _, gpu: 1.0 if gpu.foreign else None,
        lambda _, gpu: f"is in use by {gpu.foreign}, which Muster did not start",
        "end the process, or let it run as a job",
    ),
    Check.GPU_IDLE: _idle_gpus,
    Check.CLUSTER_UNREACHABLE: _of_alerts(AlertKind.CLUSTER_UNREACHABLE),
    Check.QUEUE_LENGTH: _long_queues,
    Check.JOB_WAITING: _waiting_jobs,
    Check.JOB_NEEDS_ACTION: _of_alerts(AlertKind.JOB_NEEDS_ACTION),
    Check.JOB_HUNG: _hung_jobs,
    Check.JOB_STALLED: _stalled_jobs,
    Check.CERTIFICATE: _certificate,
    Check.SERVER_DISK: _of_alerts(AlertKind.SERVER_DISK),
    Check.LOG_SERVER: _of_alerts(AlertKind.LOG_SERVER),
}
