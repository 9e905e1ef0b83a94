"""A job of `paddle cluster_train`, the client of Paddle's platform2, as a Muster spec.

The document is what `muster cluster-train` makes of its options and of `cluster_config(...)` in the job's
configuration: the options by their long names, `cluster_config` with the keys of that call, and `train_flags` with what
`paddle train` gets. On each node of the original there were a parameter server and a trainer; they are the roles `ps`
and `worker` here.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from muster.domain.specs import Framework, Priority
from muster.wire.dialects.job_names import put_name
from muster.wire.dialects.paddle.cluster_config import put_cluster_config
from muster.wire.dialects.paddle.cluster_train_scripts import RUN_HOOK, SERVE, THIRDPARTY_VARIABLE, TRAIN
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document

JOB_NAME = "paddle-train"
_KEYS = (
    "where", "num_nodes", "num_pservers", "job_name", "submitter", "time_limit", "job_priority", "use_gpu", "config",
    "thirdparty", "before_hook", "cluster_config", "train_flags",
)  # fmt: skip
_TIME = re.compile(r"(\d{1,4}):([0-5]\d):([0-5]\d)")
_FLAG = re.compile(r"[A-Za-z]\w*")
_NAME = re.compile(r"[^/\0]{1,200}")
_OF_MUSTER = {
    "config": "-f names it",
    "local": "a job on a cluster is never local",
    "nics": "Muster gives the servers their addresses",
    "num_gradient_servers": "it is the number of nodes",
    "port": "Muster chooses a free one",
    "ports_num": "each parameter server has one",
    "ports_num_for_sparse": "use_remote_sparse decides it",
    "pservers": "Muster gives the trainers their addresses",
    "trainer_id": "each trainer gets its own",
    "use_gpu": "-t decides it",
}
"""Flags of `paddle train` that are not passed on, and why."""


def recognizes(data: Mapping[str, Any]) -> bool:
    return "num_nodes" in data and "cluster_config" in data


def translate(document: Document) -> Translation:
    """The command made the document, so that its lines mean nothing to anybody."""
    return _Job(replace(document, lines={})).translated()


class _Job:
    def __init__(self, document: Document) -> None:
        self._into = Translator(document)
        self._data: dict[str, Any] = document.data
        self._nodes = self._count("num_nodes", 1)
        self._flags = self._train_flags()

    def translated(self) -> Translation:
        into = self._into
        into.put(("framework",), str(Framework.PADDLE), ())
        put_name(into, self._text("job_name") or JOB_NAME, ("job_name",))
        if where := self._text("where"):
            into.put(("cluster",), where, ("where",))
        self._who()
        self._limits()
        self._hook()
        settings = put_cluster_config(into, into.mapping(self._data.get("cluster_config"), ("cluster_config",)))
        self._roles(settings.of_trainers, settings.of_servers)
        if settings.variables or self._thirdparty:
            own = {THIRDPARTY_VARIABLE: self._thirdparty} if self._thirdparty else {}
            into.put(("env",), {**settings.variables, **own}, ("cluster_config",))
        into.refuse_unknown(self._data, (), _KEYS)
        return into.translation()

    def _who(self) -> None:
        if submitter := self._text("submitter"):
            self._into.put(("labels",), {"submitter": submitter[:256]}, ("submitter",))
            self._into.warn(("submitter",), "is a label here: a job belongs to whoever is logged in")

    def _limits(self) -> None:
        into = self._into
        priority = self._text("job_priority") or str(Priority.NORMAL)
        if priority in {str(one) for one in Priority}:
            into.put(("priority",), priority, ("job_priority",))
        else:
            into.refuse(
                ("job_priority",), f"is {priority!r}"[:200], f"one of {', '.join(str(one) for one in Priority)}"
            )
        limit = self._text("time_limit") or "0"
        found = _TIME.fullmatch(limit)
        if found is not None:
            hours, minutes, seconds = map(int, found.groups())
            if total := hours * 3600 + minutes * 60 + seconds:
                into.put(("timeLimit",), f"{total}s", ("time_limit",))
        elif limit != "0":
            into.refuse(("time_limit",), f"is {limit!r}"[:200], "hh:mm:ss, or 0 for none")

    def _hook(self) -> None:
        """`setup` without a cache is what the hook was: it runs once on each node, before anything else there."""
        self._thirdparty = self._text("thirdparty")
        if self._thirdparty and (not _NAME.fullmatch(self._thirdparty) or self._thirdparty in (".", "..")):
            self._into.refuse(("thirdparty",), f"is {self._thirdparty!r}"[:200], "the name of a folder")
        if self._data.get("before_hook"):
            command = {"command": ["sh", "-c", RUN_HOOK], "cache": False}
            self._into.put(("setup",), command, ("thirdparty",), "--set setup=null runs the job without before_hook.sh")

    def _roles(self, of_trainers: Mapping[str, str], of_servers: Mapping[str, str]) -> None:
        into, use_gpu = self._into, self._text("use_gpu") or "gpu"
        if use_gpu not in ("gpu", "cpu"):
            into.refuse(("use_gpu",), f"is {use_gpu!r}"[:200], "gpu or cpu")
        count = self._trainer_count()
        config = self._text("config")
        if not _NAME.fullmatch(config):
            into.refuse(("config",), f"is {config!r}"[:200], "the name of a file")
        flags = {
            "config": config,
            "use_gpu": "1" if use_gpu == "gpu" else "0",
            **of_trainers,
            **self._flags,
            "trainer_count": str(count),
        }
        into.put(("roles", "worker", "replicas"), self._nodes, ("num_nodes",))
        into.put(("roles", "worker", "command"), _command(TRAIN, flags), ("config",))
        if use_gpu == "gpu" or "trainer_count" in self._flags:
            resource = "gpu" if use_gpu == "gpu" else "cpu"
            into.put(("roles", "worker", "resources", resource), count, ("trainer_count",))
        into.put(("roles", "ps", "replicas"), self._count("num_pservers", self._nodes), ("num_pservers",))
        into.put(("roles", "ps", "command"), _command(SERVE, of_servers), ("config",))

    def _trainer_count(self) -> int:
        given = self._flags.get("trainer_count", "1")
        if re.fullmatch(r"[1-9]\d{0,3}", given):
            return int(given)
        self._into.refuse(("train_flags", "trainer_count"), f"is {given!r}"[:200], "a whole number, 1 or more")
        return 1

    def _train_flags(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in self._into.mapping(self._data.get("train_flags"), ("train_flags",)).items():
            if not _FLAG.fullmatch(str(name)) or not isinstance(value, str):
                self._into.refuse(("train_flags", name), "is no flag of paddle train")
            elif name in _OF_MUSTER:
                self._into.warn((name,), f"has no effect: {_OF_MUSTER[name]}")
            else:
                found[name] = value
        return found

    def _text(self, key: str) -> str:
        value = self._data.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self._into.refuse((key,), f"is {value!r}"[:200], "a text")
        return ""

    def _count(self, key: str, default: int) -> int:
        value = self._data.get(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        self._into.refuse((key,), f"is {value!r}"[:200], "a whole number, 1 or more")
        return default


def _command(script: str, flags: Mapping[str, str]) -> list[str]:
    return ["sh", "-c", script, "paddle", *(f"--{name}={value}" for name, value in flags.items())]
