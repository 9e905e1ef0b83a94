"""OpenPAI's exit codes, as far as Muster answers them: what each means, whose fault it is, and what follows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExitSpec:
    code: int
    phrase: str
    issuer: str
    causer: str
    type: str
    stage: str
    behavior: str
    reaction: str


def _user(stage: str, *codes: tuple[int, str]) -> Iterable[ExitSpec]:
    for code, phrase in codes:
        issuer, causer = "USER_CONTAINER", "USER_CONTAINER"
        if stage in ("SUBMITTING", "LAUNCHING"):
            issuer, causer = "PAI_FC", "USER_SUBMISSION"
        yield ExitSpec(code, phrase, issuer, causer, "USER_FAILURE", stage, "PERMANENT", "NEVER_RETRY")


def _platform(stage: str, *codes: tuple[int, str]) -> Iterable[ExitSpec]:
    for code, phrase in codes:
        yield ExitSpec(
            code, phrase, "PAI_RUNTIME", "PAI_UNKNOWN", "PLATFORM_FAILURE", stage, "TRANSIENT", "ALWAYS_RETRY"
        )


def _stop(*codes: tuple[int, str]) -> Iterable[ExitSpec]:
    for code, phrase in codes:
        yield ExitSpec(code, phrase, "PAI_FC", "USER_STOP", "USER_STOP", "UNKNOWN", "PERMANENT", "NEVER_RETRY")


def _unknown(stage: str, *codes: tuple[int, str]) -> Iterable[ExitSpec]:
    for code, phrase in codes:
        yield ExitSpec(code, phrase, "PAI_RUNTIME", "UNKNOWN", "UNKNOWN_FAILURE", stage, "UNKNOWN", "RETRY_TO_MAX")


SUCCEEDED = 0
STOPPED = -210
ENDED_WITH_JOB = -220
UNRECOGNIZED = 255
EXIT_SPECS: Mapping[int, ExitSpec] = {
    spec.code: spec
    for spec in (
        ExitSpec(
            SUCCEEDED,
            "Succeeded",
            "USER_CONTAINER",
            "USER_CONTAINER",
            "USER_SUCCESS",
            "COMPLETING",
            "UNKNOWN",
            "NEVER_RETRY",
        ),
        *_stop(
            (STOPPED, "StopFrameworkRequested"),
            (ENDED_WITH_JOB, "FrameworkAttemptCompletion"),
            (-1004, "PodDeadlineExceeded"),
        ),
        *_platform("UNKNOWN", (-101, "PodExternalDeleted")),
        *_platform("LAUNCHING", (-120, "PodCreationTransientError"), (-1006, "PodNodeAdmissionUnexpectedError")),
        *_platform("LAUNCHING", (-1002, "PodScheduledToInsufficientResourceNode"), (253, "ContainerPortConflict")),
        *_platform("RUNNING", (-1001, "PodNodeLost"), (223, "ContainerCudaUncorrectableECCError")),
        *_platform("RUNNING", (130, "ContainerSigIntReceived"), (137, "ContainerSigKillReceived")),
        *_platform("RUNNING", (143, "ContainerSigTermReceived")),
        *_user("SUBMITTING", (-200, "PodCreationPermanentError"), (-1100, "CreateFrameworkPermanentFailed")),
        *_user("LAUNCHING", (-1005, "PodNodeAdmissionForbidden"), (254, "ContainerImageNotExists")),
        *_user("RUNNING", (-1200, "UserContainerDockerOOMKilled"), (132, "ContainerSigIllReceived")),
        *_user("RUNNING", (135, "ContainerSigBusReceived"), (136, "ContainerSigFpeReceived")),
        *_user("RUNNING", (141, "ContainerSigPipeReceived"), (220, "UserCommandExitWithError")),
        *_user("RUNNING", (224, "ContainerCudaMismatch"), (225, "ContainerCudnnMismatch")),
        *_user("RUNNING", (226, "ContainerCudaOutOfMemory"), (228, "ContainerWrongParameter")),
        *_user("RUNNING", (230, "ContainerInvalidSavePath"), (231, "ContainerSyntaxError")),
        *_user("RUNNING", (232, "ContainerImportError"), (233, "ContainerIndexOutOfRange")),
        *_unknown("LAUNCHING", (-1201, "ContainerDockerCreationError")),
        *_unknown("RUNNING", (134, "ContainerSigAbrtReceived"), (139, "ContainerSigSegvReceived")),
        *_unknown("UNKNOWN", (UNRECOGNIZED, "PAIRuntimeUnknownFailed"), (256, "PAIRuntimeExitAbnormally")),
    )
}
