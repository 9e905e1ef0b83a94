"""Asks a Slurm cluster whether jobs could run there, and compares it with what its file expects."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from muster.agent import OLDEST_PYTHON
from muster.agent.system.frames import Message
from muster.backends.agents.agent_channel import AgentLink
from muster.backends.kinds import Examination
from muster.backends.slurm.answers.accounting_names import NAME_COMMANDS, unknown_names
from muster.backends.slurm.answers.node_tables import PARTITIONS_COMMAND, PartitionRecord, read_partitions
from muster.backends.slurm.login.login_agent import LoginNode
from muster.backends.slurm.option_trials import trials
from muster.backends.slurm.options import Expected, SlurmOptions, SubmitAs, slurm_options
from muster.backends.slurm.site_lines import TRIAL_ENDS, needs_trial, trial_lines, trial_problem
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, MusterError

_NAME = "muster-check"
_AT_ONCE = 8
_NOTED = ("driver", "cuda", "cudnn")


def examine(cluster: PhysicalCluster) -> Examination:
    options = slurm_options(cluster)
    try:
        found = asyncio.run(_examine(options))
        if found.failures:
            return found
        return with_logins(found, asyncio.run(_examine_logins(options)))
    except MusterError as error:
        return Examination(failures=[error.message])
    except OSError as error:
        return Examination(failures=[f"the login node cannot be used: {error.strerror or error}"])


async def _examine(options: SlurmOptions) -> Examination:
    with tempfile.TemporaryDirectory() as keys:
        node = LoginNode(options, _NAME, 0, Path(keys) / "host-keys")
        async with node.connected() as (reader, writer):
            link = AgentLink("login", reader, writer, lambda _: None)
            reading = asyncio.create_task(link.run())
            try:
                return await _asked(link, options)
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)


async def _examine_logins(options: SlurmOptions) -> dict[str, str]:
    """What is wrong with the logins of users of whom the file knows, or nothing. A few are tried at a time."""
    if options.submit_as is not SubmitAs.LOGIN:
        return {}
    slots = asyncio.Semaphore(_AT_ONCE)

    async def problem(owner: str) -> str:
        own = options.for_owner(owner)
        if own is None:
            return "there is no such file"
        async with slots:
            try:
                return "; ".join((await _examine(replace(own, expected=Expected()))).failures)
            except MusterError as error:
                return error.message
            except OSError as error:
                return error.strerror or str(error)

    owners = options.user_logins.known_owners()
    return dict(zip(owners, await asyncio.gather(*map(problem, owners)), strict=True))


def with_logins(found: Examination, problems: Mapping[str, str]) -> Examination:
    """`problems` are those of the logins, by user. The cluster can be used if one of them works."""
    if not problems:
        return found
    working = sorted(owner for owner, problem in problems.items() if not problem)
    broken = [
        f"the login of {owner} does not work: {problem}" for owner, problem in sorted(problems.items()) if problem
    ]
    if not working:
        return replace(found, failures=[*found.failures, *broken])
    notes = [*found.notes, f"logins that work: {', '.join(working)}"]
    return replace(found, notes=notes, warnings=[*found.warnings, *broken])


async def _asked(link: AgentLink, options: SlurmOptions) -> Examination:
    env = {"SLURM_CONF": options.conf} if options.conf else {}
    opened = await link.ask("batch_open", commands=options.commands, env=env)
    version = str(opened["version"]).split()[-1]  # Debian calls it slurm-wlm
    asked = [[*PARTITIONS_COMMAND], ["sacct", "--noheader", "--allocations", "--format=JobID"]]
    partitions, accounting = (await link.ask("batch_ask", asked=asked))["answers"]
    if partitions["code"]:
        return Examination(failures=[f"Slurm does not answer: {' '.join(partitions['err'].split())}"])
    failures = list(missing_partitions(options, list(read_partitions(partitions["out"]))))
    if not failures:
        failures += await _refused(link, options)
    found = {"slurm": version}
    warnings = await _unknown_names(link, options) if not accounting["code"] else []
    has_own_python = options.python != SlurmOptions().python
    has_expected = any(getattr(options.expected, name) for name in _NOTED)
    if not failures and (has_own_python or has_expected or needs_trial(options)):
        probe = await _on_a_node(link, options)
        found |= probe.found
        warnings += [probe.unknown] if probe.unknown else []
        failures += [probe.problem] if probe.problem else []
        failures += python_problems(options.python, found) if probe.found else []
    notes = [f"Slurm {version}, {'with' if not accounting['code'] else 'without'} accounting"]
    return Examination(notes, failures, [*warnings, *differences(options.expected, found)])


async def _unknown_names(link: AgentLink, options: SlurmOptions) -> list[str]:
    answers = (await link.ask("batch_ask", asked=[[*command] for command in NAME_COMMANDS.values()]))["answers"]
    printed = {key: answer["out"] for key, answer in zip(NAME_COMMANDS, answers, strict=True) if not answer["code"]}
    return [problem for key, text in printed.items() for problem in unknown_names(options, key, str(text))]


async def _refused(link: AgentLink, options: SlurmOptions) -> list[str]:
    """What Slurm refuses of the options that jobs are submitted with."""
    found: list[str] = []
    for trial in trials(options):
        answer = await link.ask("batch_try", options=trial.options)
        if answer["code"]:
            found.append(trial.refusal(str(answer["err"])))
    return found


def _probed(options: SlurmOptions) -> list[str]:
    return next(iter(trials(options))).options


def python_problems(python: str, found: Mapping[str, str]) -> list[str]:
    """`found` is what a node has said."""
    node, version = found.get("node", "a node"), found.get("python")
    if version is None:
        return [f"python: {python} cannot be run on {node}; name one that all compute nodes have"]
    if tuple(map(int, version.split(".")[:2])) < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return [f"python: {python} is Python {version} on {node}, and {wanted} or newer is needed"]
    return []


@dataclass(frozen=True, slots=True)
class _Probe:
    """What a job has told of a compute node, or what is wrong with the file there, or why no job could tell."""

    found: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    unknown: str = ""


async def _on_a_node(link: AgentLink, options: SlurmOptions) -> _Probe:
    """What is installed on a compute node, and whether the lines of the file work there, which only a job can tell."""
    probed, lines = _probed(options), trial_lines(options)
    asked = {"options": probed, "python": options.python, "before": lines, "ends": [*TRIAL_ENDS]}
    try:
        told: Message = await link.ask("batch_probe", **asked)
    except BackendError as error:
        unknown = "versions on the nodes are not known"
        keys = " and `modules`, `prolog` and `network.interface` have not been tried" if needs_trial(options) else ""
        return _Probe(unknown=f"{unknown}{keys}: {error.message}")
    if told.get("ended"):
        return _Probe(problem=trial_problem(options, int(told["ended"]), str(told["said"])))
    words = (line.split(None, 1) for line in str(told["text"]).splitlines())
    return _Probe({pair[0]: pair[1].strip() for pair in words if len(pair) > 1})


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
