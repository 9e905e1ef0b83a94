"""Why a job waits in Slurm, in plain words, and whether it can start without anybody doing anything."""

import re
from dataclasses import dataclass

from muster.backends.slurm.answers.limit_reasons import limit_reason


@dataclass(frozen=True, slots=True)
class WaitReason:
    code: str
    """Slurm's own word."""
    sentence: str
    starts_by_itself: bool
    """Whether it starts when other jobs end or time passes. If not, somebody has to change the job or the cluster."""


_ITSELF = {
    "None": "Slurm has not looked at the job yet.",
    "Resources": "The nodes, GPUs or memory that the job asks for are in use.",
    "Priority": "Other jobs come before it in Slurm's queue.",
    "Dependency": "It waits for another job that it depends on.",
    "BeginTime": "Its earliest start time has not come yet.",
    "Licenses": "The licences that it asks for are in use.",
    "Reservation": "It waits for its reservation to begin.",
    "Prolog": "Its nodes are being prepared.",
    "Cleaning": "Slurm still cleans up after its previous run.",
    "JobArrayTaskLimit": "As many tasks of its array run as may run at the same time.",
    "SchedDefer": "Slurm starts jobs later than they are submitted here.",
    "BurstBufferResources": "The burst buffer has not enough space.",
    "BurstBufferStageIn": "Its data is being copied into the burst buffer.",
    "PowerNotAvail": "There is not enough electrical power for its nodes.",
    "PowerReserved": "The electrical power for its nodes is reserved.",
    "FedJobLock": "The clusters of the federation have not agreed yet on who runs it.",
    "SystemFailure": "Slurm had an internal failure, and tries again.",
    "Constraints": "No node with the features that it asks for is available now.",
    "QOSUsageThreshold": "Its QOS has used more than its share; it starts when that has decayed.",
    "AssociationJobLimit": "Its account has as many jobs as it may have.",
    "AssociationResourceLimit": "Its account uses as much as it may use.",
    "QOSJobLimit": "Its QOS has as many jobs as it may have.",
    "QOSResourceLimit": "Its QOS uses as much as it may use.",
    "AccountingPolicy": "A limit of its account or QOS is reached.",
}
_NOT_BY_ITSELF = {
    "JobHeldUser": "Its owner has put it on hold. It starts after `scontrol release`.",
    "JobHeldAdmin": "An administrator of the cluster has put it on hold.",
    "JobHoldMaxRequeue": "It was started too often without success, and Slurm holds it now.",
    "ReqNodeNotAvail": "A node that it needs is not available: it is down, drained, or reserved.",
    "NodeDown": "A node that it needs is down.",
    "FrontEndDown": "The front-end node of the cluster is down.",
    "PartitionDown": "Its partition is down.",
    "PartitionInactive": "Its partition is inactive and starts no jobs.",
    "PartitionNodeLimit": "It asks for more nodes than its partition allows, or than are in order there.",
    "PartitionTimeLimit": "It asks for more time than its partition allows.",
    "PartitionConfig": "Its partition does not allow what it asks for.",
    "BadConstraints": "No node of the cluster can ever satisfy what it asks for.",
    "InvalidAccount": "Its account does not exist in Slurm.",
    "InvalidQOS": "Its QOS does not exist, or its account may not use it.",
    "AccountNotAllowed": "Its account may not use its partition.",
    "QOSNotAllowed": "Its QOS may not be used in its partition, or by its account.",
    "DependencyNeverSatisfied": "The job that it depends on did not end as required, so that it can never start.",
    "DeadLine": "It can no longer end before its deadline.",
    "ReservationDeleted": "Its reservation was deleted.",
    "ReservationInvalid": "Its reservation does not exist, or may not be used by it.",
    "MaxMemPerLimit": "It asks for more memory per CPU or node than its partition allows.",
    "AssociationTimeLimit": "It asks for more time than its account allows.",
    "QOSTimeLimit": "It asks for more time than its QOS allows.",
    "BurstBufferOperation": "The burst buffer failed.",
    "JobLaunchFailure": "It could not be launched, and Slurm holds it now.",
    "NonZeroExitCode": "Its last run failed, and Slurm holds it now.",
    "RaisedSignal": "Its last run was killed by a signal, and Slurm holds it now.",
    "TimeLimit": "Its last run reached its time limit, and Slurm holds it now.",
    "InactiveLimit": "Its last run did nothing for too long, and Slurm holds it now.",
    "OutOfMemory": "Its last run had not enough memory, and Slurm holds it now.",
}
_DESCRIBED = (
    # Slurm replaces the word by a text of its own in some cases.
    (re.compile(r"launch failed requeued held"), False, "It could not be launched, and Slurm holds it now."),
    (
        re.compile(r"user env retrieval failed requeued held"),
        False,
        "Slurm could not read the environment of its user.",
    ),
    (re.compile(r"job requeued in held state"), False, "It was requeued, and Slurm holds it now."),
    (re.compile(r"Nodes required for job are DOWN, DRAINED or reserved"), True, _NOT_BY_ITSELF["ReqNodeNotAvail"]),
    (
        re.compile(r"required node\(?s?\)? (is |are )?(down|not avail)", re.IGNORECASE),
        False,
        _NOT_BY_ITSELF["ReqNodeNotAvail"],
    ),
    (re.compile(r"job not runnable", re.IGNORECASE), False, _NOT_BY_ITSELF["BadConstraints"]),
)
_DETAILED = re.compile(r"(?P<code>[A-Za-z]+)[,(]\s*(?P<detail>.+?)\)?")
_RESERVED = re.compile(r"may be reserved", re.IGNORECASE)
"""Somebody else's reservation of a node ends by itself."""
_UNAVAILABLE = re.compile(r"Unavailable(?:Nodes)?:(\S+)")


def wait_reason(text: str) -> WaitReason:
    """`text` is what squeue, scontrol or JSON says: a word, a word with details, or words of Slurm's own."""
    text = text.strip().removeprefix("(").strip()
    text = text.removesuffix(")") if text.count(")") > text.count("(") else text
    known = _known(text)
    if known is not None:
        return known
    described = text.replace("_", " ")
    for pattern, starts_by_itself, sentence in _DESCRIBED:
        if pattern.search(described):
            return WaitReason(text, sentence, starts_by_itself)
    detailed = _DETAILED.fullmatch(text)
    known = _known(detailed["code"]) if detailed is not None else None
    if known is None or detailed is None:
        return WaitReason(text, f"Slurm says: {described}.", True)
    nodes = _UNAVAILABLE.search(detailed["detail"])
    detail = f"not available: {nodes[1]}" if nodes else detailed["detail"].replace("_", " ").strip()
    starts_by_itself = known.starts_by_itself or _RESERVED.search(detail) is not None
    return WaitReason(known.code, f"{known.sentence.removesuffix('.')} ({detail}).", starts_by_itself)


def known_codes() -> tuple[str, ...]:
    """The words of the table, without the limits that `limit_reasons` composes."""
    return (*_ITSELF, *_NOT_BY_ITSELF)


def _known(code: str) -> WaitReason | None:
    if code in _ITSELF:
        return WaitReason(code, _ITSELF[code], True)
    if code in _NOT_BY_ITSELF:
        return WaitReason(code, _NOT_BY_ITSELF[code], False)
    limit = limit_reason(code)
    return None if limit is None else WaitReason(code, limit.sentence, limit.starts_by_itself)
