"""The names and labels of the objects of a gang. They follow from ids alone, so that an object can be found, created
once and deleted without asking what there is.
"""

import hashlib
import re
from collections.abc import Mapping
from zlib import crc32

TASK, GANG, SERVER, CLUSTER = "muster/task", "muster/gang", "muster/server", "muster/cluster"
"""Labels on all pods. Those of the server and the cluster tell them from the pods of other servers and clusters."""
JOB_NAME, OWNER, TASKS, FILE_PREFIX = "muster/job-name", "muster/owner", "muster/tasks", "muster/file."
"""Annotations: the job's name, its owner, on the gang's own object its number of tasks, on pods small files."""

_ODD = re.compile(r"[^a-z0-9-]+")
_LONGEST_LABEL = 63
DIGEST_LENGTH = 16
"""The least room that the name of a user needs in that of a namespace."""
_DIGEST = re.compile(rf"(^|-)[0-9a-f]{{{DIGEST_LENGTH}}}$")
_SYSTEM = re.compile(r"kube-.*|default")


def gang_name(gang_key: str) -> str:
    """The name of the objects that a gang has once: the one that owns the others, the service and the secret."""
    return f"muster-{_label(gang_key.replace('.', '-'))}"


def pod_name(task_id: str) -> str:
    gang, role, index = task_id.rsplit(".", 2)
    return f"{gang_name(gang)}-{host_name(role, int(index))}"


def host_name(role: str, index: int) -> str:
    """The name of the pod inside the domain of its gang."""
    return f"{_label(role, 50)}-{index}"


def address(task_id: str) -> str:
    """The name by which the tasks of the same gang reach this one."""
    gang, role, index = task_id.rsplit(".", 2)
    return f"{host_name(role, int(index))}.{gang_name(gang)}"


def user_namespace(template: str, user: str) -> str:
    """The namespace of a user: no other user has it, whatever names people choose, and it is none of Kubernetes' own.
    A name that cannot be used as it is, or looks like one that was changed here, gets a digest."""
    plain = _ODD.sub("-", user.lower()).strip("-")
    found = template.replace("{user}", plain)
    is_usable = plain == user and len(found) <= _LONGEST_LABEL and not _DIGEST.search(plain)
    if is_usable and not _SYSTEM.fullmatch(found):
        return found
    digest = hashlib.sha256(user.encode()).hexdigest()[:DIGEST_LENGTH]
    longest = max(0, _LONGEST_LABEL - len(template) + len("{user}") - DIGEST_LENGTH - 1)
    return template.replace("{user}", f"{plain[:longest].rstrip('-')}-{digest}".lstrip("-"))


def own_labels(server: str, cluster: str) -> dict[str, str]:
    """The labels of every object that this backend creates."""
    return {SERVER: hashlib.sha256(server.encode()).hexdigest()[:16], CLUSTER: cluster}


def selector(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in labels.items())


def _label(text: str, longest: int = 40) -> str:
    """The text as a DNS label. Texts that differ become labels that differ."""
    plain = _ODD.sub("-", text.lower()).strip("-")
    if plain == text and len(plain) <= longest:
        return plain
    return f"{plain[: longest - 9].rstrip('-')}-{crc32(text.encode()):08x}".lstrip("-")
