"""Asks a Slurm cluster whether jobs could run there, and compares it with what its file expects."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from muster.agent.system.frames import Message
from muster.backends.agents.agent_channel import AgentLink
from muster.backends.kinds import Examination
from muster.backends.slurm.login_agent import LoginNode
from muster.backends.slurm.node_tables import PARTITIONS_COMMAND, PartitionRecord, read_partitions
from muster.backends.slurm.options import Expected, SlurmOptions, slurm_options
from muster.backends.slurm.sbatch_options import component_settings
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, MusterError

_NAME = "muster-check"
_NOTED = ("driver", "cuda", "cudnn")


def examine(cluster: PhysicalCluster) -> Examination:
    try:
        return asyncio.run(_examine(slurm_options(cluster)))
    except MusterError as error:
        return Examination(failures=[error.message])
    except OSError as error:
        return Examination(failures=[f"the login node cannot be used: {error.strerror or error}"])


async def _examine(options: SlurmOptions) -> Examination:
    with tempfile.TemporaryDirectory() as keys:
        node = LoginNode(options, _NAME, 0, Path(keys))
        async with node.connected() as (reader, writer):
            link = AgentLink("login", reader, writer, lambda _: None)
            reading = asyncio.create_task(link.run())
            try:
                return await _asked(link, options)
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)


async def _asked(link: AgentLink, options: SlurmOptions) -> Examination:
    env = {"SLURM_CONF": options.conf} if options.conf else {}
    opened = await link.ask("batch_open", commands=options.commands, env=env)
    version = str(opened["version"]).split()[-1]  # Debian calls it slurm-wlm
    asked = [[*PARTITIONS_COMMAND], ["sacct", "--noheader", "--allocations", "--format=JobID"]]
    partitions, accounting = (await link.ask("batch_ask", asked=asked))["answers"]
    if partitions["code"]:
        return Examination(failures=[f"Slurm does not answer: {' '.join(partitions['err'].split())}"])
    failures = list(missing_partitions(options, list(read_partitions(partitions["out"]))))
    found = {"slurm": version}
    warnings: list[str] = []
    if any(getattr(options.expected, name) for name in _NOTED):
        found, told = await _on_a_node(link, options, found)
        warnings += told
    notes = [f"Slurm {version}, {'with' if not accounting['code'] else 'without'} accounting"]
    return Examination(notes, failures, [*warnings, *differences(options.expected, found)])


async def _on_a_node(
    link: AgentLink, options: SlurmOptions, found: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What is installed on a compute node, which only a job can tell."""
    try:
        told: Message = await link.ask("batch_probe", options=component_settings(options.submit))
    except BackendError as error:
        return dict(found), [f"versions on the nodes are not known: {error.message}"]
    lines = (line.split(None, 1) for line in str(told["text"]).splitlines())
    return {**found, **{words[0]: words[1].strip() for words in lines if len(words) > 1}}, []


def missing_partitions(options: SlurmOptions, partitions: list[PartitionRecord]) -> Iterator[str]:
    known = [one.name for one in partitions]
    settings = {"": options.submit, **options.virtual}
    for name, own in settings.items():
        for partition in (own.partition or "").split(","):
            if partition and partition not in known:
                place = f"virtualClusters.{name}.partition" if name else "partition"
                yield f"{place}: Slurm has no partition {partition}; it has {', '.join(known)}"


def differences(expected: Expected, found: Mapping[str, str]) -> Iterator[str]:
    """Only as much of a version is compared as the file says: 22.05 is also 22.05.8."""
    for name in ("slurm", *_NOTED):
        wanted = getattr(expected, name)
        there = found.get(name)
        if wanted and there is None:
            yield f"the file expects {name} {wanted}, and none was found"
        elif wanted and there is not None and there.split(".")[: len(wanted.split("."))] != wanted.split("."):
            yield f"the file expects {name} {wanted}, and there is {there}"
