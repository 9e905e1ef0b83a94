"""A Job of Volcano (`batch.volcano.sh/v1alpha1`) as a Muster spec. Each of its tasks is a role."""

from typing import Any

from muster.wire.dialects.kubernetes.kube_metadata import around_spec, name_of, namespace_of, recognizer, unknown_keys
from muster.wire.dialects.kubernetes.pod_gangs import translate_pods
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.kubernetes.pods import PodRole, first_container
from muster.wire.dialects.kubernetes.run_policies import priority, queue, restart_policies
from muster.wire.dialects.kubernetes.task_scripts import WAIT, is_ssh_server
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.dialects.volcano.volcano_plugins import Plugins
from muster.wire.dialects.volcano.volcano_policies import policies
from muster.wire.documents import Document, Path

KIND, VERSION = "Job", "batch.volcano.sh/v1alpha1"
STATES = {
    "Queued": "Pending",
    "Held": "Aborted",
    "Starting": "Pending",
    "Running": "Running",
    "Stopping": "Terminating",
    "Succeeded": "Completed",
    "Failed": "Failed",
    "Cancelled": "Terminated",
}
"""The phase of a Volcano job for each state of a Muster job."""
recognizes = recognizer(KIND, VERSION)

_KEYS = (
    *("schedulerName", "minAvailable", "minSuccess", "volumes", "tasks", "policies", "plugins", "queue", "maxRetry"),
    *("ttlSecondsAfterFinished", "priorityClassName", "runningEstimate", "networkTopology"),
)
Tasks = dict[str, tuple[dict[str, Any], Path]]
"""The tasks by name, each with its place in the file."""
_TASK_KEYS = ("name", "replicas", "minAvailable", "template", "policies", "topologyPolicy", "maxRetry", "dependsOn")


def translate(document: Document) -> Translation:
    into, data = Translator(document), document.data
    spec = around_spec(into, data)
    tasks = _tasks(into, spec.get("tasks"))
    words = " ".join(_words(first_container(task)) for task, _ in tasks.values())
    plugins = Plugins(into, spec.get("plugins"), ("spec", "plugins"), list(tasks), words)
    into.put(("framework",), str(plugins.framework), ("spec", "plugins"))
    if plugins.has_ssh:
        into.put(("ssh",), True, ("spec", "plugins"))
    given = Given(plugins.variables, exports=plugins.exports)
    roles = []
    for name in sorted(tasks, key=lambda name: name != plugins.first):
        task, at = tasks[name]
        _task(into, name, task, at, spec)
        role = PodRole(into, name, task.get("template"), (*at, "template"), given=given, namespace=namespace_of(data))
        role.starts += plugins.files(_words(role.container))
        roles.append(role)
    translate_pods(into, roles, name_of(data), _volumes(into, spec.get("volumes")))
    for role in roles:
        if plugins.has_ssh and is_ssh_server(role.container):
            into.put(("roles", role.name, "command"), WAIT, (*role.at, "command"))
    restart_policies(into, roles, {})
    policies(into, spec.get("policies"), ("spec", "policies"), list(tasks), spec.get("maxRetry"))
    _success(into, spec, tasks)
    _rest(into, spec)
    return into.translation()


def _tasks(into: Translator, given: Any) -> Tasks:
    at: Path = ("spec", "tasks")
    tasks: Tasks = {}
    for place, item in enumerate(into.listed(given, at)):
        task = into.mapping(item, (*at, place))
        name = _name(task, place)
        if name in tasks:
            into.refuse((*at, place, "name"), f"there are two tasks {name!r}", "give each a name of its own")
        tasks[name] = (task, (*at, place))
    if not tasks:
        into.refuse(at, "is required", "at least one task", settled_by=("command",))
    return tasks


def _name(task: dict[str, Any], place: int) -> str:
    return str(task.get("name") or f"default{place}")


def _words(container: dict[str, Any]) -> str:
    return " ".join(str(container.get(key)) for key in ("command", "args"))


def _task(into: Translator, name: str, task: dict[str, Any], at: Path, spec: dict[str, Any]) -> None:
    """A role ends the job only if a policy says so, whatever it is called."""
    into.put(("roles", name), {}, at)
    into.put(("roles", name, "replicas"), task.get("replicas", 1), (*at, "replicas"))
    unknown_keys(into, task, at, _TASK_KEYS)
    own = into.listed(task.get("policies"), (*at, "policies"))
    retry = task.get("maxRetry", spec.get("maxRetry"))
    ends = _ends_job(own) or _ends_job(spec.get("policies"))
    if not ends:
        into.put(("roles", name, "minSucceeded"), -1, at)
    policies(into, own, (*at, "policies"), [name], retry)
    if task.get("minAvailable") not in (None, task.get("replicas", 1)):
        into.warn((*at, "minAvailable"), "has no effect: all tasks start together or none does")
    if task.get("dependsOn"):
        into.warn((*at, "dependsOn"), "has no effect: all tasks start together")
    if task.get("topologyPolicy") not in (None, "none"):
        into.warn((*at, "topologyPolicy"), "has no effect: Muster does not bind tasks to parts of a node")


def _ends_job(given: Any) -> bool:
    listed = given if isinstance(given, list) else []
    return any(isinstance(policy, dict) and policy.get("action") == "CompleteJob" for policy in listed)


def _success(into: Translator, spec: dict[str, Any], tasks: Tasks) -> None:
    """A Volcano job without a policy for failures runs to the end of all its pods, and is a success if at least
    `minAvailable` of them were."""
    counts = [task.get("replicas", 1) for task, _ in tasks.values()]
    total = sum(count for count in counts if isinstance(count, int))
    least, wanted = spec.get("minAvailable"), spec.get("minSuccess")
    if wanted is not None and len(tasks) == 1:
        into.put(("roles", next(iter(tasks)), "minSucceeded"), wanted, ("spec", "minSuccess"))
    elif wanted is not None:
        message = "counts succeeded pods of all tasks, and Muster counts those of a role"
        hint = "--set roles.NAME.minSucceeded=N says how many of which"
        into.refuse(("spec", "minSuccess"), message, hint, settled_by=("roles",))
    source: Path = ("spec", "minAvailable")
    if isinstance(least, int) and least > total:
        into.refuse(source, f"is {least}, and there are {total} tasks", f"at most {total}")
    if not isinstance(least, int) or least >= total:
        return
    if len(tasks) == 1:
        into.put(("roles", next(iter(tasks)), "minFailed"), total - least + 1, source)
        into.warn(source, f"all {total} tasks start together; the job fails if fewer than {least} succeed")
    else:
        into.warn(source, f"has no effect: all {total} tasks start together, and one that fails fails the job")


def _volumes(into: Translator, given: Any) -> list[tuple[dict[str, Any], Path]]:
    """Volumes of the job, which are mounted in all its tasks."""
    mounts: list[tuple[dict[str, Any], Path]] = []
    at: Path = ("spec", "volumes")
    for place, item in enumerate(into.listed(given, at)):
        source: Path = (*at, place)
        volume = into.mapping(item, source)
        if volume.get("volumeClaimName") and volume.get("mountPath"):
            storage = {"storage": str(volume["volumeClaimName"]), "target": str(volume["mountPath"])}
            mounts.append(({**storage, "readOnly": False}, source))
        else:
            hint = "--set 'mounts=[{storage: NAME, target: DIR}]' names one that is there"
            into.refuse(source, "Muster makes no volumes", hint, settled_by=("mounts",))
    return mounts


def _rest(into: Translator, spec: dict[str, Any]) -> None:
    unknown_keys(into, spec, ("spec",), _KEYS)
    for key, value in spec.items():
        source: Path = ("spec", key)
        match key:
            case "queue":
                queue(into, value, source)
            case "priorityClassName":
                priority(into, value, source)
            case "ttlSecondsAfterFinished":
                into.warn(source, "has no effect: Muster keeps no pods", "records and logs of ended tasks are kept")
            case "runningEstimate" | "networkTopology":
                into.warn(source, "has no effect: Muster does not use it")
            case "schedulerName" if value not in ("volcano", "default-scheduler"):
                into.warn(source, f"{value!r} has no effect: Muster schedules by itself")
