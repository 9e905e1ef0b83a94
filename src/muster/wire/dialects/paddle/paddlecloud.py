"""A job of paddlecloud, as its client sends the arguments of `paddlecloud submit`, as a Muster spec.

Its trainers become the role `worker` and its parameter servers the role `ps`. What paddlecloud's image does before it
starts the program is in the command of each role: it sets the variables that are known only then, and goes to the
package. Trainers and parameter servers of PaddlePaddle v1 and v2 meet at one port, which all parameter servers have.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.domain.specs import Framework
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document

JOB_NAME = "paddle-cluster-job"
REGISTRY_PREFIX = "pcloud-registry-"
PACKAGE_VARIABLE = "TRAINER_PACKAGE"
"""Names the package by its path in the storage."""
_PFS = re.compile(r"/+pfs/+(?P<cluster>[^/]+)/+(?P<path>(?:home|public)(?:/.*)?)")
_STORAGE = re.compile(r"/pfs/+([^/\s'\"]+)/+(home|public)(?![\w.-])")
_COUNTS = {"parallelism": 1, "pservers": None, "cpu": 1, "gpu": 0, "pscpu": 1, "passes": 1}
_TEXTS = ("name", "jobPackage", "memory", "psmemory", "entry", "topology", "image", "registry", "datacenter")
_FOLDERS = ("home", "public")
_BOUNDS = ("minInstance", "maxInstance", "min-instance", "max-instance", "min_instance", "max_instance")
_KEYS = (*_TEXTS, *_COUNTS, *_BOUNDS, "faulttolerant")
_PORT = "7164"

_MEET = """\
port= differs= rest="$PADDLE_PSERVERS_IP_PORT_LIST"
while [ -n "$rest" ]; do
  one="${rest%%,*}"
  [ "${one##*:}" = "${port:-${one##*:}}" ] || differs=yes
  port="${one##*:}"
  case "$rest" in *,*) rest="${rest#*,}";; *) rest=;; esac
done
if [ -n "$differs" ] && command -v paddle >/dev/null 2>&1; then
  echo "The parameter servers have different ports here, and PaddlePaddle v1 and v2 need the same for all." >&2
  echo "Submit with -pservers 1, or to a cluster whose tasks have addresses of their own." >&2
  exit 1
fi
[ -n "$differs$port" ] && export PADDLE_INIT_PORT="$port"
"""
"""Nothing but the shell is needed: an image may have no other programs. Without the program `paddle` there is nobody
who would use that port."""
_ENTER = """\
export PADDLE_INIT_PSERVERS="$MUSTER_HOSTS_PS" PADDLE_PSERVER_IPS="$MUSTER_HOSTS_PS"
export PADDLE_TRAINER_IPS="$PADDLE_TRAINERS" PADDLE_INIT_TRAINER_ID="$PADDLE_TRAINER_ID"
[ -d "$TRAINER_PACKAGE" ] || export TRAINER_PACKAGE="$PWD"
export PYTHONPATH="$TRAINER_PACKAGE:$PYTHONPATH"
cd "$TRAINER_PACKAGE" || exit 1
"""
_RUN_ENTRY = 'exec sh -c "$ENTRY"\n'
_RUN_TOPOLOGY = """\
exec paddle train --port="$PADDLE_INIT_PORT" --nics=eth0 --ports_num="$PADDLE_INIT_PORTS_NUM" \\
  --ports_num_for_sparse="$PADDLE_INIT_PORTS_NUM_FOR_SPARSE" --num_passes="$PADDLE_INIT_NUM_PASSES" \\
  --trainer_count="$PADDLE_INIT_TRAINER_COUNT" --saving_period=1 --log_period=20 --local=0 --rdma_tcp=tcp \\
  --config="$TOPOLOGY" --use_gpu="$PADDLE_INIT_USE_GPU" --trainer_id="$PADDLE_INIT_TRAINER_ID" \\
  --save_dir="$OUTPUT" --pservers="$PADDLE_INIT_PSERVERS" \\
  --num_gradient_servers="$PADDLE_INIT_NUM_GRADIENT_SERVERS"
"""
_SERVE = """\
export PADDLE_INIT_PORT="${PADDLE_PORT:-$PADDLE_INIT_PORT}"
if ! command -v paddle >/dev/null 2>&1; then
  trap 'exit 0' TERM
  echo "There is no program paddle here, so nobody can use this parameter server; it waits for the trainers."
  while :; do sleep 3600 & wait $!; done
fi
exec paddle pserver --use_gpu=0 --port="$PADDLE_INIT_PORT" --ports_num="$PADDLE_INIT_PORTS_NUM" \\
  --ports_num_for_sparse="$PADDLE_INIT_PORTS_NUM_FOR_SPARSE" --nics="$NICES" --comment=paddle_process_k8s \\
  --num_gradient_servers="$PADDLE_INIT_NUM_GRADIENT_SERVERS"
"""


@dataclass(frozen=True, slots=True)
class Submitter:
    """Who submits through paddlecloud's API, and which of the storage's folders the cluster has (`home`, `public`)."""

    user: str
    folders: frozenset[str] = frozenset()


def recognizes(data: Mapping[str, Any]) -> bool:
    return "jobPackage" in data and ("parallelism" in data or "entry" in data or "topology" in data)


def translate(document: Document, by: Submitter | None = None) -> Translation:
    """`by` is known if the job came through paddlecloud's API: then its package is in the storage of the data centre.
    Otherwise the package is a folder beside the file."""
    return _Job(document, by).translated()


class _Job:
    def __init__(self, document: Document, by: Submitter | None) -> None:
        self._into = Translator(document)
        self._by = by
        self._data: dict[str, Any] = document.data
        self._texts = {key: self._text(key) for key in _TEXTS}
        self._counts = {key: self._count(key, default) for key, default in _COUNTS.items()}
        if not self._counts["pservers"]:
            self._counts["pservers"] = self._counts["parallelism"]

    def translated(self) -> Translation:
        into, texts = self._into, self._texts
        into.put(("framework",), str(Framework.PADDLE), ())
        into.put(("name",), texts["name"] or JOB_NAME, ("name",))
        if texts["datacenter"]:
            into.put(("cluster",), texts["datacenter"], ("datacenter",))
        elif self._by is not None:
            into.refuse(("datacenter",), "no datacenter specified", settled_by=("cluster",))
        if not texts["entry"] and not texts["topology"]:
            into.refuse(("entry",), "no topology or entry specified", settled_by=("roles", "worker", "command"))
        self._roles()
        self._image()
        package = self._package()
        into.put(("env",), self._variables(package), ())
        self._no_effect()
        return into.translation()

    def _roles(self) -> None:
        into, counts, texts = self._into, self._counts, self._texts
        run = _RUN_ENTRY if texts["entry"] else _RUN_TOPOLOGY
        asked = {
            "worker": ("parallelism", {"cpu": counts["cpu"], "memory": texts["memory"] or "1Gi"}, _MEET + _ENTER + run),
            "ps": ("pservers", {"cpu": counts["pscpu"], "memory": texts["psmemory"] or "1Gi"}, _SERVE),
        }
        sources = {"worker": ("cpu", "memory"), "ps": ("pscpu", "psmemory")}
        for role, (count, resources, script) in asked.items():
            into.put(("roles", role, "replicas"), counts[count], (count,))
            into.put(("roles", role, "command"), ["sh", "-c", script], ("entry",))
            for name, source in zip(resources, sources[role], strict=True):
                into.put(("roles", role, "resources", name), resources[name], (source,))
        if counts["gpu"]:
            into.put(("roles", "worker", "resources", "gpu"), counts["gpu"], ("gpu",))

    def _image(self) -> None:
        into, image, registry = self._into, self._texts["image"], self._texts["registry"]
        if image:
            into.put(("runtime", "image"), image, ("image",), "--set runtime.image=null runs it without a container")
        if registry and image:
            secret = registry if registry.startswith(REGISTRY_PREFIX) else REGISTRY_PREFIX + registry
            into.put(("runtime", "pullSecret"), secret, ("registry",))
        elif registry:
            into.warn(("registry",), "has no effect without an image")

    def _package(self) -> str:
        """Puts the package, and returns the path at which programs of paddlecloud find it."""
        into, given, by = self._into, self._texts["jobPackage"], self._by
        match = _PFS.fullmatch(given)
        if match is not None:
            into.put(("package",), f"{match['cluster']}:{_tidy(match['path'])}", ("jobPackage",))
            self._mounts(match["cluster"])
            return "/" + _tidy(given)
        if by is None:
            if given:
                into.put(("package",), given, ("jobPackage",))
            self._mounts(self._texts["datacenter"])
            return ""
        name, cluster = self._texts["name"] or JOB_NAME, self._texts["datacenter"]
        path = f"home/{by.user}/jobs/{name}"
        into.put(("package",), f"{cluster}:{path}", ("jobPackage",))
        self._mounts(cluster)
        return f"/pfs/{cluster}/{path}"

    def _mounts(self, cluster: str) -> None:
        """The storage is where programs look for it. Without a container the nodes have it there, or not. Folders are
        mounted as a whole: in a part of one, links could lead out of it. Homes are for their owners alone."""
        if not self._texts["image"]:
            return
        by, mounts = self._by, list[dict[str, Any]]()
        folders = self._named_folders(cluster) if by is None else by.folders
        if "home" in folders:
            mounts.append({"source": "home", "target": f"/pfs/{cluster}/home"})
        if "public" in folders:
            mounts.append({"source": "public", "target": f"/pfs/{cluster}/public", "readOnly": True})
        if mounts:
            self._into.put(("mounts",), mounts, ("datacenter",), "--set mounts=[] runs it without the storage")
        if by is None and len(mounts) < len(_FOLDERS):
            without = " and ".join(f"/pfs/{cluster or 'DATACENTER'}/{name}" for name in _FOLDERS if name not in folders)
            hint = "name a folder in the entry, or --set 'mounts=[{source: home, target: /pfs/DATACENTER/home}]'"
            self._into.warn(("image",), f"the container has no {without}, which the entry does not name", hint)

    def _named_folders(self, cluster: str) -> frozenset[str]:
        """The folders of the storage that the job names itself: which of them a cluster has is not known here."""
        texts = (self._texts[key] for key in ("jobPackage", "entry", "topology"))
        named = [found for text in texts for found in _STORAGE.findall(text)]
        for other in dict.fromkeys(name for name, _ in named if name != cluster):
            message = (
                f"/pfs/{other} is the storage of another data centre than {cluster!r}, and the container has it not"
            )
            self._into.refuse(("datacenter",), message, f"write the datacenter {other}", ("mounts",))
        return frozenset(folder for name, folder in named if name == cluster)

    def _variables(self, package: str) -> dict[str, str]:
        counts, texts = self._counts, self._texts
        variables = {
            "PADDLE_JOB_NAME": texts["name"] or JOB_NAME,
            "TRAINERS": counts["parallelism"],
            "PSERVERS": counts["pservers"],
            "TOPOLOGY": texts["topology"],
            "ENTRY": texts["entry"],
            PACKAGE_VARIABLE: package,
            "PADDLE_INIT_PORT": _PORT,
            "PADDLE_INIT_TRAINER_COUNT": counts["gpu"] or counts["cpu"],
            "PADDLE_INIT_PORTS_NUM": 1,
            "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": 1,
            "PADDLE_INIT_NUM_GRADIENT_SERVERS": counts["parallelism"],
            "PADDLE_INIT_NUM_PASSES": counts["passes"],
            "PADDLE_INIT_USE_GPU": 1 if counts["gpu"] else 0,
        }
        if texts["datacenter"]:
            variables["PADDLE_CLOUD_CURRENT_DATACENTER"] = texts["datacenter"]
        if self._by is not None:
            variables["PADDLE_CLOUD_USERNAME"] = self._by.user
            variables["NAMESPACE"] = re.sub(r"[@._]", "-", self._by.user)
        return {name: str(value) for name, value in variables.items()}

    def _no_effect(self) -> None:
        into, data = self._into, self._data
        if data.get("faulttolerant"):
            into.refuse(
                ("faulttolerant",),
                "Muster has no master and no etcd for PaddlePaddle's fault-tolerant trainers",
                "submit without -faulttolerant; a failed job is tried again with `retry: {max: N}` in a Muster spec",
            )
        for key in data:
            if key in _BOUNDS and data[key] not in (0, 1, None):
                into.warn((key,), "has no effect without -faulttolerant, as in paddlecloud")
            elif key not in _KEYS:
                into.warn((key,), "has no effect: paddlecloud does not know it")
        if not self._texts["image"]:
            into.warn(("image",), "is empty: the programs of the nodes run, as Muster has no default image")

    def _text(self, key: str) -> str:
        value = self._data.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self._into.refuse((key,), f"is {value!r}"[:200], "a text")
        return ""

    def _count(self, key: str, default: int | None) -> int:
        """A whole number; clients of others write it as a text now and then."""
        value = self._data.get(key)
        if value is None or value == "":
            return default or 0
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self._into.refuse((key,), f"is {value!r}"[:200], "a whole number, 0 or more")
        return default or 0


def _tidy(path: str) -> str:
    return "/".join(part for part in path.split("/") if part)
