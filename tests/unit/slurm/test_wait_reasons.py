"""Every reason that Slurm has for a waiting job becomes a sentence, and says whether waiting helps."""

import re
from pathlib import Path

import pytest

from muster.backends.slurm.answers.wait_reasons import known_codes, wait_reason

pytestmark = pytest.mark.fast
ALL_CODES = (Path(__file__).parent / "documented" / "reason_codes.txt").read_text().split()
_HELD_OR_HOPELESS = """
    ReqNodeNotAvail NodeDown FrontEndDown
    JobHeldUser JobHeldAdmin JobHoldMaxRequeue PartitionDown PartitionInactive PartitionNodeLimit PartitionTimeLimit
    PartitionConfig BadConstraints InvalidAccount InvalidQOS AccountNotAllowed QOSNotAllowed DependencyNeverSatisfied
    DeadLine ReservationDeleted ReservationInvalid MaxMemPerLimit AssociationTimeLimit QOSTimeLimit BurstBufferOperation
    JobLaunchFailure NonZeroExitCode RaisedSignal TimeLimit InactiveLimit OutOfMemory"""
HELD_OR_HOPELESS = frozenset(_HELD_OR_HOPELESS.split())


def must_wait_for_somebody(code: str) -> bool:
    """For limits: what others hold comes back by itself. What a job asks too much of, and what was used up in the past,
    does not."""
    if not re.match("(QOS|Assoc)?(Grp|Max|Min)", code) or code in HELD_OR_HOPELESS:
        return code in HELD_OR_HOPELESS
    if "Grp" in code:
        return bool(re.search("(?<!Run)Minutes", code))
    return bool(re.search("PerJob|PerNode|^QOSMin", code))


@pytest.mark.parametrize("code", ALL_CODES)
def test_every_code_of_slurm_has_a_sentence(code: str) -> None:
    found = wait_reason(code)

    assert not found.sentence.startswith("Slurm says"), code
    assert found.sentence.endswith(".")
    assert found.code == code
    assert found.starts_by_itself is not must_wait_for_somebody(code)


def test_table_has_no_code_that_slurm_does_not_have() -> None:
    assert set(known_codes()) - set(ALL_CODES) == set()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("Resources", "The nodes, GPUs or memory that the job asks for are in use."),
        ("AssocGrpCPUMinutesLimit", "Its account has used up its budget (CPUs by the minute)."),
        (
            "AssocGrpCPURunMinutesLimit",
            "The jobs of its account use as much as they may together (CPUs by the minute).",
        ),
        ("QOSMaxGRESPerUser", "The jobs of its user use as much as its QOS allows (GPUs or other devices)."),
        ("QOSMaxCpuPerJobLimit", "It asks for more than its QOS allows per job (CPUs)."),
        ("QOSMaxMemoryPerNode", "It asks for more than its QOS allows per node (memory)."),
        ("QOSMinGRES", "It asks for less than its QOS requires (GPUs or other devices)."),
        ("QOSMinCpuNotSatisfied", "It asks for less than its QOS requires (CPUs)."),
        ("MaxNodePerAccount", "The jobs of its account use as much as its QOS allows (nodes)."),
        ("MaxJobsPerAccount", "As many jobs of its account run as its QOS allows."),
        ("QOSMaxSubmitJobPerUserLimit", "As many jobs of its user run or wait as its QOS allows."),
        ("AssocGrpJobsLimit", "As many jobs of its account run as may do so together."),
        ("QOSMaxWallDurationPerJobLimit", "It asks for more than its QOS allows per job (time)."),
    ],
)
def test_sentences(code: str, sentence: str) -> None:
    assert wait_reason(code).sentence == sentence


@pytest.mark.parametrize(
    ("text", "code", "sentence", "starts_by_itself"),
    [
        ("(Resources)", "Resources", "The nodes, GPUs or memory that the job asks for are in use.", True),
        (
            "ReqNodeNotAvail, UnavailableNodes:n[1-2]",
            "ReqNodeNotAvail",
            "A node that it needs is not available: it is down, drained, or reserved (not available: n[1-2]).",
            False,
        ),
        (
            "(ReqNodeNotAvail(Unavailable:gpu7))",
            "ReqNodeNotAvail",
            "A node that it needs is not available: it is down, drained, or reserved (not available: gpu7).",
            False,
        ),
        (
            "ReqNodeNotAvail,_May_be_reserved_for_other_job",
            "ReqNodeNotAvail",
            "A node that it needs is not available: it is down, drained, or reserved (May be reserved for other job).",
            True,
        ),
        (
            "(Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions)",
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
            "A node that it needs is not available: it is down, drained, or reserved.",
            True,
        ),
        (
            "launch_failed_requeued_held",
            "launch_failed_requeued_held",
            "It could not be launched, and Slurm holds it now.",
            False,
        ),
        (
            "(launch failed requeued held)",
            "launch failed requeued held",
            "It could not be launched, and Slurm holds it now.",
            False,
        ),
        ("job requeued in held state", "job requeued in held state", "It was requeued, and Slurm holds it now.", False),
        ("The_weather_is_bad", "The_weather_is_bad", "Slurm says: The weather is bad.", True),
        ("NewReason", "NewReason", "Slurm says: NewReason.", True),
    ],
)
def test_details_and_words_of_its_own(text: str, code: str, sentence: str, starts_by_itself: bool) -> None:
    found = wait_reason(text)

    assert (found.code, found.sentence, found.starts_by_itself) == (code, sentence, starts_by_itself)
