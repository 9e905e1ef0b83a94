"""The `resources` of a SkyPilot task: what each node has to have."""

import re
from typing import Any

from muster.lib.nearest import nearest
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_ELSEWHERE = "the job runs on the cluster that --cluster chooses"
_IDLE = {
    "infra": _ELSEWHERE,
    "cloud": _ELSEWHERE,
    "region": _ELSEWHERE,
    "zone": _ELSEWHERE,
    "use_spot": "Muster has no spot instances, and starts a job again whose node is lost",
    "spot_recovery": "Muster starts a job again whose node is lost",
    "disk_size": "the disks are those of the nodes",
    "disk_tier": "the disks are those of the nodes",
    "local_disk": "the disks are those of the nodes",
    "network_tier": "the network is that of the nodes",
    "ports": "`muster port-forward` reaches a port of a task",
    "autostop": "Muster stops no machines",
    "max_hourly_cost": "Muster rents no machines",
    "accelerator_args": "it configures TPUs",
    "priority": "--set priority=high",
}
RESOURCE_KEYS = (
    *("accelerators", "cpus", "instance_type", "image_id", "labels", "any_of", "ordered", "job_recovery"),
    *_IDLE,
)
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)B?(\+?)", re.IGNORECASE)
_ACCELERATOR = re.compile(r"([A-Za-z][\w.-]*)(?::(\d+(?:\.\d+)?))?")
_GPU_WORDS = ("gpu", "gpus", "gpuType", "accelerator")
_OWN_IMAGE = "skypilot:"


class Hardware:
    def __init__(self, into: Translator, given: Any) -> None:
        self._into = into
        self._given = into.mapping(given, ("resources",))

    def put(self) -> int | float:
        """Returns the number of GPUs on each node."""
        for key in self._given:
            if key in _IDLE:
                self._into.warn(("resources", key), f"has no effect: {_IDLE[key]}")
            elif key not in (*RESOURCE_KEYS, "memory"):
                guess = "accelerators" if key in _GPU_WORDS else nearest(key, (*RESOURCE_KEYS, "memory"))
                hint = f"did you mean {guess}?" if guess else ""
                self._into.refuse(("resources", key), "is no key of SkyPilot's resources", hint)
        self._cpus()
        self._memory()
        self._image()
        self._instance()
        self._recovery()
        for name, value in self._into.mapping(self._given.get("labels"), ("resources", "labels")).items():
            self._into.put(("labels", name), value, ("resources", "labels", name))
        return self._gpus()

    def _cpus(self) -> None:
        cpus = self._given.get("cpus")
        if cpus is None:
            return
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\+?", str(cpus).strip())
        if found is None:
            self._into.refuse(("resources", "cpus"), f"is {cpus!r}", "a number such as 4 or 4+", ("resources", "cpu"))
        else:
            self._into.put(("resources", "cpu"), found[1], ("resources", "cpus"))

    def _memory(self) -> None:
        memory = self._given.get("memory")
        if memory is None:
            return
        at: Path = ("resources", "memory")
        found = _MEMORY.fullmatch(str(memory).strip())
        if found is None:
            self._into.refuse(at, f"is {memory!r}", "an amount such as 32, 32+ or 64GB", ("resources", "memory"))
            return
        self._into.put(("resources", "memory"), f"{found[1]}{(found[2] or 'G').upper()}i", at)
        if found[3]:
            self._into.warn(at, "is the least there; here a task may use this much and no more")

    def _image(self) -> None:
        image = self._given.get("image_id")
        at: Path = ("resources", "image_id")
        if image is None:
            return
        if isinstance(image, str) and image.startswith("docker:"):
            hint = "--set runtime.image=null keeps everything else and runs the commands with the nodes' own programs"
            self._into.put(("runtime", "image"), image.removeprefix("docker:"), at, hint)
        elif isinstance(image, str) and image.startswith(_OWN_IMAGE):
            self._into.warn(at, "has no effect: the commands run with the programs of the nodes")
        else:
            hint = "--set runtime.image=NAME takes an image of a container; null the programs of the nodes"
            self._into.refuse(at, "Muster starts no machines from images of a cloud", hint, ("runtime", "image"))

    def _instance(self) -> None:
        kind = self._given.get("instance_type")
        if kind is None:
            return
        if any(key in self._given for key in ("cpus", "accelerators")):
            self._into.warn(
                ("resources", "instance_type"), f"{kind!r} has no effect: the nodes are those of the cluster"
            )
            return
        hint = "--set resources.cpu=N, and resources.gpu=N if it has GPUs"
        message = f"Muster does not know what a machine of the type {kind!r} has"
        self._into.refuse(("resources", "instance_type"), message, hint, ("resources", "cpu"))

    def _recovery(self) -> None:
        recovery = self._given.get("job_recovery")
        restarts = recovery.get("max_restarts_on_errors") if isinstance(recovery, dict) else None
        if restarts:
            self._into.put(("retry", "max"), restarts, ("resources", "job_recovery", "max_restarts_on_errors"))
        elif recovery:
            message = "has no effect: Muster starts a job again whose node is lost"
            self._into.warn(("resources", "job_recovery"), message, "--set retry.max=3 does so after errors, too")

    def _gpus(self) -> int | float:
        source, asked = self._asked()
        found = [_ACCELERATOR.fullmatch(one.strip()) for one in asked]
        if not asked:
            return 0
        settled: Path = ("resources", "gpu")
        hint = "--set resources.gpu=N, and resources.gpuType=MODEL"
        if not all(found) or any(one[1].lower().startswith("tpu") for one in found if one):
            self._into.refuse(source, f"{', '.join(asked)} cannot be translated", hint, settled)
            return 0
        counts = {float(one[2] or 1) for one in found if one}
        if len(counts) != 1:
            self._into.refuse(source, "asks for different numbers of GPUs, and a Muster job has one", hint, settled)
            return 0
        number = counts.pop()
        count = int(number) if number.is_integer() else number
        models = list(dict.fromkeys(one[1] for one in found if one))
        self._into.put(settled, count, source)
        model = models[0] if len(models) == 1 else models
        self._into.put(("resources", "gpuType"), model, source, "--set resources.gpuType=null takes any GPU")
        return count

    def _asked(self) -> tuple[Path, list[str]]:
        """The accelerators that will do, each as NAME:COUNT, from whichever key names them."""
        for key in ("any_of", "ordered"):
            choices = self._into.listed(self._given.get(key), ("resources", key))
            others = {name for one in choices if isinstance(one, dict) for name in one} - {"accelerators", *_IDLE}
            if others:
                message = f"chooses between {', '.join(sorted(others))}, and a Muster job has one"
                self._into.refuse(("resources", key), message, "move one of them to `resources`")
            named = [text for one in choices if isinstance(one, dict) for text in _texts(one.get("accelerators"))]
            if named:
                return ("resources", key), named
            if choices:
                self._into.warn(("resources", key), f"has no effect: {_ELSEWHERE}")
        return ("resources", "accelerators"), _texts(self._given.get("accelerators"))


def _texts(given: Any) -> list[str]:
    """`A100:8`, {A100: 8}, [A100:1, V100:1] and {A100:1, V100:1}, whose values are empty."""
    if isinstance(given, dict):
        return [name if count is None else f"{name}:{count}" for name, count in given.items()]
    if isinstance(given, list):
        return [text for one in given for text in _texts(one)]
    return [] if given is None else [str(given)]
