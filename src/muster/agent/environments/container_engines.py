"""Finds the container engines that work here. Rootless engines come first; the order is podman, docker, apptainer.

An engine works if it answers: one that is installed does not if its service is not running. The calls may block and are
never made on the loop.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
from typing import Any, Callable, Dict, List, Mapping, Tuple

from muster.agent.gpus import cdi
from muster.agent.system.short_commands import call

_ANSWER_WITHIN_S = 10.0
_INIT_FOLDERS = ("/usr/libexec/podman", "/usr/local/libexec/podman", "/usr/local/lib/podman", "/usr/lib/podman")
_HOOKS = ("/usr/share/containers/oci/hooks.d/*nvidia*.json", "/etc/containers/oci/hooks.d/*nvidia*.json")
_PODMAN_KNOWS_CDI = (4, 1)
_GPU_FILES = ("/dev/kfd", "/dev/dri/render*")
_NVIDIA = ("nvml", "nvidia-smi")
_ROCM = ("rocm-smi",)

Engine = Dict[str, Any]


def find_engines(gpu_source: str) -> Dict[str, Any]:
    """`engines` are those that work, the best first; `problems` says by engine why an installed one does not work."""
    finders: Tuple[Tuple[str, Callable[[str, str], Engine]], ...] = (
        ("podman", _podman),
        ("docker", _docker),
        ("apptainer", _apptainer),
    )
    engines: List[Engine] = []
    problems: Dict[str, str] = {}
    for name, finder in finders:
        program = shutil.which(name)
        if program is None:
            continue
        try:
            engines.append({"name": name, "program": program, **finder(program, gpu_source)})
        except (OSError, ValueError, KeyError, TypeError) as error:
            problems[name] = str(error) or repr(error)
    engines.sort(key=lambda engine: not engine["rootless"])
    return {"engines": engines, "problems": problems}


def _podman(program: str, gpu_source: str) -> Engine:
    info = json.loads(_output([program, "info", "--format", "json"]))
    host = info["host"]
    rootless = bool(host["security"]["rootless"])
    version = str(info["version"]["Version"])
    return {
        "version": version,
        "rootless": rootless,
        "init": any(os.path.exists(os.path.join(folder, "catatonit")) for folder in _INIT_FOLDERS),
        "limits": not rootless or (host.get("cgroupVersion") == "v2" and "memory" in host["cgroupControllers"]),
        **_gpus(gpu_source, *_podman_gpus(version)),
    }


def _docker(program: str, gpu_source: str) -> Engine:
    info = json.loads(_output([program, "info", "--format", "{{json .}}"]))
    if not info.get("ServerVersion"):
        raise ValueError("its service does not answer: {}".format("; ".join(info.get("ServerErrors") or ["?"])))
    options = info.get("SecurityOptions") or []
    return {
        "version": str(info["ServerVersion"]),
        "rootless": any("rootless" in option for option in options),
        "init": bool(info.get("InitBinary")),
        "limits": bool(info.get("MemoryLimit")),
        **_gpus(gpu_source, *_docker_gpus(info)),
    }


def _apptainer(program: str, gpu_source: str) -> Engine:
    words = _output([program, "--version"]).split()
    return {
        "version": words[-1] if words else "",
        "rootless": os.getuid() != 0,
        "init": False,
        "limits": False,  # its processes are the task's own, and the agent's groups hold them
        **_gpus(gpu_source, "driver", ""),
    }


def _podman_gpus(version: str) -> Tuple[str, str]:
    """Returns how podman gives NVIDIA GPUs to a container, or, if it cannot, why."""
    numbers = tuple(int(word) for word in re.findall(r"\d+", version)[:2])
    lacking = cdi.missing()
    if numbers < _PODMAN_KNOWS_CDI:
        lacking = "podman {} cannot use CDI for GPUs; version 4.1 can".format(version)
    if not lacking:
        return "cdi", ""
    return ("hook", "") if any(glob.glob(pattern) for pattern in _HOOKS) else ("", lacking)


def _docker_gpus(info: Mapping[str, Any]) -> Tuple[str, str]:
    if "nvidia" in (info.get("Runtimes") or {}) or shutil.which("nvidia-container-runtime-hook"):
        return "gpus", ""
    folders = info.get("CDISpecDirs")
    if folders and not cdi.missing(folders):
        return "cdi", ""
    return "", "it does not know NVIDIA GPUs: nvidia-ctk runtime configure --runtime=docker, then restart docker"


def _gpus(gpu_source: str, for_nvidia: str, lacking: str) -> Engine:
    """`groups` may use the device files of AMD GPUs; a user in a container who is not root has to be in them."""
    if gpu_source == "fake":
        return {"gpus": "pretended", "lacking": "", "groups": []}
    if gpu_source in _ROCM:
        files = [path for pattern in _GPU_FILES for path in glob.glob(pattern)]
        return {"gpus": "rocm", "lacking": "", "groups": sorted({os.stat(path).st_gid for path in files})}
    if gpu_source in _NVIDIA:
        return {"gpus": for_nvidia, "lacking": lacking, "groups": []}
    return {"gpus": "", "lacking": "", "groups": []}


def _output(argv: List[str]) -> str:
    done = call(argv, _ANSWER_WITHIN_S)
    if done.late:
        raise ValueError("it did not answer within {:g} s".format(_ANSWER_WITHIN_S))
    if done.code:
        raise ValueError(done.complaint)
    return done.output
