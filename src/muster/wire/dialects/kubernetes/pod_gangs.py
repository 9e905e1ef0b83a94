"""What the pods of a job have in common in Muster: image, nodes, mounts, secrets and the time that they have."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from muster.wire.dialects.kubernetes.pods import HOSTNAME_LABEL, PodRole
from muster.wire.dialects.kubernetes.volumes import pod_mounts
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_DEFAULT_GRACE_S = 30
_IMAGE_WORKDIR = "image"


def translate_pods(
    into: Translator,
    roles: Sequence[PodRole],
    name: Any,
    more: Sequence[tuple[dict[str, Any], Path]] = (),
    otherwise: Mapping[str, list[str]] | None = None,
) -> None:
    """`more` are mounts of the whole job, and `otherwise` the commands of containers that name none, by role."""
    for role in roles:
        role.translate()
    _image(into, roles)
    pod_mounts(into, roles, more)
    for role in roles:
        role.command((otherwise or {}).get(role.name))
    _nodes(into, roles)
    _secrets(into, roles)
    _times(into, roles)
    _pod_names(into, roles, name)


def _image(into: Translator, roles: Sequence[PodRole]) -> None:
    """One image for the job: Muster's runtime is the same for all roles. A container starts where its image says."""
    named = [role for role in roles if role.image is not None]
    if not named:
        return
    hint = "--set runtime.image=null keeps everything else and runs the commands with the nodes' own programs"
    into.put(("runtime", "image"), named[0].image, named[0].image_path, hint)
    for role in named[1:]:
        if role.image != named[0].image:
            into.refuse(
                role.image_path,
                f"differs from that of {named[0].name}, and a Muster job has one image",
                "choose one with --set runtime.image=NAME",
                settled_by=("runtime", "image"),
            )
    _one_of_all(into, named, ("runtime", "workdir"), "working folder", _workdir)
    pulled = [role for role in named if role.pod.get("imagePullSecrets")]
    if pulled:
        _one_of_all(into, pulled, ("runtime", "pullSecret"), "secret for the registry", _pull_secret)


def _one_of_all(
    into: Translator,
    roles: Sequence[PodRole],
    target: Path,
    what: str,
    read: Callable[[Translator, PodRole], tuple[str, Path]],
) -> None:
    value, source = read(into, roles[0])
    into.put(target, value, source)
    into.bind(target, ("runtime", "image"))
    for role in roles[1:]:
        other, at = read(into, role)
        if other != value:
            path = ".".join(map(str, target))
            message = f"its {what} differs from that of {roles[0].name}, and a Muster job has one"
            into.refuse(at, message, f"choose one with --set {path}=VALUE", settled_by=target)


def _workdir(_: Translator, role: PodRole) -> tuple[str, Path]:
    folder = role.container.get("workingDir")
    return (str(folder), (*role.at, "workingDir")) if folder else (_IMAGE_WORKDIR, role.image_path)


def _pull_secret(into: Translator, role: PodRole) -> tuple[str, Path]:
    at: Path = (*role.pod_at, "imagePullSecrets")
    secrets = into.listed(role.pod.get("imagePullSecrets"), at)
    if len(secrets) > 1:
        hint = "choose one with --set runtime.pullSecret=NAME"
        into.refuse((*at, 1), "a Muster job has one such secret", hint, settled_by=("runtime", "pullSecret"))
    first = into.mapping(secrets[0], (*at, 0)) if secrets else {}
    return str(first.get("name")), at


def _nodes(into: Translator, roles: Sequence[PodRole]) -> None:
    """One `where` for the job: a gang is placed as a whole."""
    for role in roles:
        for label, (value, source) in role.node_labels.items():
            is_name = label == HOSTNAME_LABEL
            target = ("where", "nodes") if is_name else ("where", "labels", label)
            others = [other.name for other in roles if other.node_labels.get(label, (None,))[0] != value]
            if not others:
                into.put(target, value, source)
                continue
            message = (
                f"{others[0]} does not ask for the same, and the nodes of a Muster job are chosen for all its roles"
            )
            hint = f"--set '{'.'.join(target[:2])}={'NAME' if is_name else '{KEY: VALUE}'}' says which"
            into.refuse(source, message, hint, settled_by=target[:2])


def _secrets(into: Translator, roles: Sequence[PodRole]) -> None:
    """A key of a Kubernetes secret is the Muster secret NAME.KEY of the job's owner. All tasks of a job get it."""
    uses: dict[str, str] = {}
    for role in roles:
        for variable, (secret, source) in role.variables.secrets.items():
            if uses.setdefault(variable, secret) != secret:
                hint = "--set secrets=[...] says what all of them get"
                into.refuse(source, f"another role has another secret in {variable}", hint, settled_by=("secrets",))
            into.trace(("secrets", list(uses).index(variable)), source, f"muster secret set {secret} stores it")
    if uses:
        wire = [{"name": secret, "env": variable} for variable, secret in uses.items()]
        source = next(source for role in roles for _, source in role.variables.secrets.values())
        into.put(("secrets",), wire, source, "--set secrets=[] keeps everything else")


def _times(into: Translator, roles: Sequence[PodRole]) -> None:
    """The longest grace of a pod is long enough for all. A pod that reaches its deadline fails, and so does its job."""
    graces = [(_seconds(role.pod.get("terminationGracePeriodSeconds"), _DEFAULT_GRACE_S), role) for role in roles]
    if graces:
        grace, role = max(graces, key=lambda one: one[0])
        into.put(("grace",), f"{grace}s", (*role.pod_at, "terminationGracePeriodSeconds"))
    deadlines = [(_seconds(role.pod["activeDeadlineSeconds"], 0), role) for role in roles if _has_deadline(role)]
    if deadlines:
        deadline, role = min(deadlines, key=lambda one: one[0])
        into.put(("timeLimit",), f"{deadline}s", (*role.pod_at, "activeDeadlineSeconds"))


def _has_deadline(role: PodRole) -> bool:
    return role.pod.get("activeDeadlineSeconds") is not None


def _seconds(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _pod_names(into: Translator, roles: Sequence[PodRole], name: Any) -> None:
    """A program that calls another pod by its name finds nobody here. Its variables have the addresses."""
    if not isinstance(name, str) or not name:
        return
    names = {role.name.lower() for role in roles}
    subdomains = {str(role.pod["subdomain"]).lower() for role in roles if role.pod.get("subdomain")}
    # All roles in one pattern would be tried at each place that looks like a pod.
    pattern = re.compile(
        rf"(?<![\w.-]){re.escape(name)}-(?:\d+\.(?P<subdomain>[\w-]+)|(?P<role>[\w-]+)-\d+(?![\w-]))", re.IGNORECASE
    )
    for role in roles:
        for source, settled_by, text in _texts(role):
            called = (one for one in pattern.finditer(text) if _is_pod(one, names, subdomains))
            found = next(called, None)
            if found is not None:
                hint = f"use its variables, and give it with --set {'.'.join(map(str, settled_by))}=..."
                message = f"calls the pod {found[0]} by its name, which a task does not have"
                into.refuse(source, message, hint, settled_by=settled_by)


def _is_pod(found: "re.Match[str]", names: Collection[str], subdomains: Collection[str]) -> bool:
    role, subdomain = found["role"], found["subdomain"]
    return role.lower() in names if subdomain is None else subdomain.lower() in subdomains


def _texts(role: PodRole) -> Iterator[tuple[Path, Path, str]]:
    """Every text of a container, where it is, and the key of the spec that replaces it."""
    for key in ("command", "args"):
        words = role.container.get(key)
        listed = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
        yield (*role.at, key), ("roles", role.name, "command"), " ".join(listed)
    for variable, (value, source) in role.variables.literals.items():
        yield source, ("roles", role.name, "env", variable), value
