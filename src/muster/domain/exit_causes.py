"""How a task can end, apart from what its log says: launch errors, exit codes, signals, limits. One row each.

Data and nothing else; `diagnosis` decides which row applies. Texts are templates, filled by `Ending.fault`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.domain.faults import Fault, FaultKind

USER, PLATFORM, CAPACITY = FaultKind.USER, FaultKind.PLATFORM, FaultKind.CAPACITY
CONFIGURATION, LIMIT = FaultKind.CONFIGURATION, FaultKind.LIMIT


@dataclass(frozen=True, slots=True)
class Ending:
    code: str
    kind: FaultKind
    cause: str
    advice: str
    retryable: bool = False

    def fault(self, **words: object) -> Fault:
        return Fault(self.kind, self.code, self.cause.format(**words), self.advice.format(**words), self.retryable)


LOST = Ending(
    "node-lost", PLATFORM, "The node or its agent stopped answering while the task ran.",
    "Nothing to mend in the job: it is tried again on a node that answers.", retryable=True,
)  # fmt: skip
NO_TRACE = Ending(
    "no-exit-code", PLATFORM, "The task is gone and left no exit code; its node was probably restarted.",
    "Nothing to mend in the job: it is tried again.", retryable=True,
)  # fmt: skip
TIME_LIMIT = Ending(
    "time-limit", LIMIT, "The job reached its time limit{limit} and was stopped.",
    "Raise timeLimit, or save checkpoints and submit again from the last one.",
)  # fmt: skip
MEMORY = Ending(
    "memory", LIMIT, "The task used more memory than it asked for{limit} and was killed.",
    "Raise resources.memory, or use smaller batches and fewer data-loading processes.",
)  # fmt: skip
DEPENDENCY_FAILED = Ending(
    "dependency-failed", CONFIGURATION, "It was to run after {job} had succeeded, and that job ended {state}.",
    "Mend and run {job} again, then submit this one again after it.",
)  # fmt: skip
DEPENDENCY_GONE = Ending(
    "dependency-gone", CONFIGURATION, "It was to run after job {job}, which has been removed from the history.",
    "Submit it again without that job in `after`, or after another one.",
)  # fmt: skip
STOPPED = Ending("stopped", USER, "The task was stopped on request.", "Nothing to mend.")

LAUNCH_ERRORS: Mapping[str, Ending] = {
    "port-in-use": Ending(
        "port-in-use", PLATFORM, "A port reserved for the task was taken by another program before it started.",
        "Nothing to mend in the job: it is tried again with other ports.", retryable=True,
    ),
    "disk-full": Ending(
        "disk-full", CAPACITY, "The node's disk was full, so the task could not be started.",
        "It is tried again; ask an administrator to free space on the node if that goes on.", retryable=True,
    ),
    "no-ports": Ending(
        "no-ports", CAPACITY, "The node had too few free ports for the task.",
        "It is tried again; ask for fewer ports if that goes on.", retryable=True,
    ),
    "package": Ending(
        "package", CONFIGURATION, "The code package or an input cannot be used: {message}.",
        "Pack and submit it again; links that lead out of the folder are refused.",
    ),
    "bad-request": Ending(
        "bad-request", CONFIGURATION, "The node refused the task: {message}.",
        "Mend the command, environment or files of the job and submit it again.",
    ),
    "too-large": Ending(
        "too-large", CONFIGURATION, "The task's environment or files are larger than a node accepts: {message}.",
        "Move large values out of env and params into the code package.",
    ),
}  # fmt: skip
LAUNCH_FAILED = Ending(
    "launch-failed", PLATFORM, "The node could not start the task: {message}.",
    "It is tried again; if that goes on, see `muster doctor` on the node.", retryable=True,
)  # fmt: skip

EXIT_CODES: Mapping[int, Ending] = {
    124: Ending(
        "command-timeout", USER, "A `timeout` inside the command ran out (exit code 124).",
        "Give the inner timeout more time, or use the job's timeLimit instead.",
    ),
    126: Ending(
        "not-executable", CONFIGURATION, "The command was found but may not be executed (exit code 126).",
        "Make the file executable (chmod +x) or name its interpreter in the command.",
    ),
    127: Ending(
        "command-not-found", CONFIGURATION, "The command was not found on the node (exit code 127).",
        "Check the spelling, and that `runtime` names an environment that has the program.",
    ),
}  # fmt: skip
EXITED = Ending(
    "exit", USER, "The program ended with exit code {exit_code}.",
    "The end of its log should say why; with retry.max it is tried again.", retryable=True,
)  # fmt: skip

SIGNALS: Mapping[int, Ending] = {
    1: Ending(
        "hangup", USER, "The program was hung up (SIGHUP).",
        "Something in the job's own scripts closed its session; let the program ignore SIGHUP.", retryable=True,
    ),
    2: Ending("interrupted", USER, "The program was interrupted (SIGINT).", "Submit it again when ready."),
    4: Ending(
        "illegal-instruction", CONFIGURATION,
        "The program used an instruction that this node's CPU does not have (SIGILL).",
        "Install builds for an older CPU (without AVX-512, say), or run on newer nodes.",
    ),
    6: Ending(
        "aborted", USER, "The program aborted itself (SIGABRT), as a failed check in native code does.",
        "Look for the last message before the abort in its log.", retryable=True,
    ),
    7: Ending(
        "bus-error", LIMIT, "The program hit a bus error (SIGBUS), most often because shared memory was full.",
        "Use fewer data-loading processes, or have /dev/shm enlarged on the node.",
    ),
    8: Ending(
        "arithmetic", USER, "The program stopped on an arithmetic error such as an integer division by zero (SIGFPE).",
        "Check divisors and empty batches.",
    ),
    9: Ending(
        "killed", LIMIT,
        "The program was killed from outside (SIGKILL), most often because the node ran out of memory.",
        "Raise resources.memory so that the node is not shared too tightly, or use less memory.", retryable=True,
    ),
    11: Ending(
        "segfault", USER, "The program crashed on a wrong memory access (SIGSEGV).",
        "Suspect native extensions and mismatched library versions; PYTHONFAULTHANDLER=1 shows where.",
        retryable=True,
    ),
    13: Ending(
        "broken-pipe", USER, "The program wrote to a pipe or connection that was closed (SIGPIPE).",
        "See which of its peers or child programs ended first.", retryable=True,
    ),
    15: Ending(
        "terminated", USER, "The program was told to end (SIGTERM), and not by Muster.",
        "See whether the job's own launcher or somebody on the node stopped it.", retryable=True,
    ),
    24: Ending(
        "cpu-time", LIMIT, "The program used up the CPU time that the node allows (SIGXCPU).",
        "Have the node's limit (ulimit -t) raised.",
    ),
    25: Ending(
        "file-size", LIMIT, "The program wrote a file larger than the node allows (SIGXFSZ).",
        "Split the file, or have the node's limit (ulimit -f) raised.",
    ),
}  # fmt: skip
SIGNALLED = Ending(
    "signal", USER, "The program was ended by signal {signal}.",
    "The end of its log may say why; with retry.max it is tried again.", retryable=True,
)  # fmt: skip
