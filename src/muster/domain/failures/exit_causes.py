"""The table of causes that do not come from a log: launch errors, exit codes, signals and limits, one row each.

This module contains only data; `diagnosis` decides which row applies. The texts are templates for `Ending.fault`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.domain.failures.container_failures import DENIED, ENGINE, IMAGE, REGISTRY, RUNTIME, WORKDIR
from muster.domain.failures.faults import Fault, FaultKind

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
        cause, advice = self.cause.format(**words), self.advice.format(**words)
        shown = {name: text for name, word in words.items() if (text := str(word).strip())}
        return Fault(self.kind, self.code, cause, advice, self.retryable, words=shown)


LOST = Ending(
    "node-lost", PLATFORM, "The node or its agent stopped answering while the task ran.",
    "The job needs no fix: it is retried, on another node if there is one.", retryable=True,
)  # fmt: skip
NO_TRACE = Ending(
    "no-exit-code", PLATFORM, "The task disappeared without an exit code; its node was probably restarted.",
    "The job needs no fix: it is retried.", retryable=True,
)  # fmt: skip
TIME_LIMIT = Ending(
    "time-limit", LIMIT, "The job reached its time limit{limit} and was stopped.",
    "Raise timeLimit, or save checkpoints and submit the job again to resume from the last one.",
)  # fmt: skip
MEMORY = Ending(
    "memory", LIMIT, "The task used more memory than it asked for{limit} and was killed.",
    "Raise resources.memory, or use smaller batches and fewer data-loading processes.",
)  # fmt: skip
DEPENDENCY_FAILED = Ending(
    "dependency-failed", CONFIGURATION, "This job depends on the success of {job}, which ended {state}.",
    "Fix {job} and run it again, then submit this job again after it.",
)  # fmt: skip
DEPENDENCY_GONE = Ending(
    "dependency-gone", CONFIGURATION, "This job depends on job {job}, which has been removed from the history.",
    "Submit it again without that job in `after`, or with another one.",
)  # fmt: skip
STOPPED = Ending("stopped", USER, "The task was stopped on request.", "No fix is needed.")

REJECTED = "rejected"
REFUSED = "refused-by-engine"
"""A launch that was rejected with a message that is a whole sentence."""
SECRET = "secret"  # noqa: S105
ENGINE_LIMIT = "engine-time-limit"
PREEMPTED = "engine-preempted"
REQUEUED = "engine-requeued"
ENGINE_START = "engine-start"
LOGIN_UNREACHABLE = "login-unreachable"
LAUNCH_ERRORS: Mapping[str, Ending] = {
    "port-in-use": Ending(
        "port-in-use", PLATFORM, "A port reserved for the task was taken by another program before it started.",
        "The job needs no fix: it is retried with other ports.", retryable=True,
    ),
    "disk-full": Ending(
        "disk-full", CAPACITY, "The node's disk was full, so the task could not be started.",
        "It is retried; if that keeps failing, ask an admin to free space on the node.", retryable=True,
    ),
    "prolog": Ending(
        "prolog", PLATFORM, "The prolog of the node failed, so the task was not started: {message}.",
        "The job needs no fix: it is retried, on another node if there is one.", retryable=True,
    ),
    "no-ports": Ending(
        "no-ports", CAPACITY, "The node had too few free ports for the task.",
        "It is retried; if that keeps failing, ask for fewer ports.", retryable=True,
    ),
    "too-many-tasks": Ending(
        "too-many-tasks", CAPACITY, "The node ran as many tasks as it may, so the task could not be started.",
        "It is retried; if that keeps failing, ask an admin to look at the tasks of the node.", retryable=True,
    ),
    "package": Ending(
        "package", CONFIGURATION, "The code package or an input cannot be used: {message}.",
        "Submit the job again, so that it is packed again; links that lead out of the folder are refused.",
    ),
    "bad-request": Ending(
        "bad-request", CONFIGURATION, "The node refused the task: {message}.",
        "Fix the command, environment or files of the job and submit it again.",
    ),
    IMAGE: Ending(
        IMAGE, CONFIGURATION, "The image of the job cannot be pulled: {message}.",
        "Check the name in runtime.image, that the image has been pushed, and that the cluster may pull it.",
    ),
    DENIED: Ending(
        DENIED, CONFIGURATION, "The registry does not give the image of the job to this account: {message}.",
        "Check the name in runtime.image. If it is private, store a docker config.json with `muster secret set NAME`,"
        " and name that secret in runtime.pullSecret.",
    ),
    WORKDIR: Ending(
        WORKDIR, CONFIGURATION, "The container has no such folder to start in: {message}.",
        "Name a folder that the image has in runtime.workdir, or write `image` for the one that it says itself.",
    ),
    REGISTRY: Ending(
        REGISTRY, PLATFORM, "The image cannot be had from its registry now: {message}.",
        "It is retried; if that keeps failing, check the registry's name in runtime.image, or ask an admin about it.",
        retryable=True,
    ),
    ENGINE: Ending(
        ENGINE, CONFIGURATION, "The container engine did not start the container: {message}.",
        "Check runtime.image and the mounts of the job; `muster doctor` checks the engine of a node.", retryable=True,
    ),
    RUNTIME: Ending(
        ENGINE, PLATFORM, "The container engine of the node cannot start containers: {message}.",
        "It is retried; if that keeps failing, ask an admin to look at the node: `muster doctor` checks its engine.",
        retryable=True,
    ),
    ENGINE_LIMIT: Ending(
        ENGINE_LIMIT, LIMIT, "The cluster itself ended the job at a time limit: {message}.",
        "Set a timeLimit that the cluster allows, and save checkpoints so that the job can resume from the last one.",
    ),
    PREEMPTED: Ending(
        PREEMPTED, CAPACITY, "The cluster took the nodes of the job away for another one: {message}.",
        "The job needs no fix: it is retried.", retryable=True,
    ),
    REQUEUED: Ending(
        REQUEUED, PLATFORM, "The cluster took the job off its nodes and put it back into its own queue: {message}.",
        "The job needs no fix: it is retried as a new job there.", retryable=True,
    ),
    ENGINE_START: Ending(
        ENGINE_START, PLATFORM, "The cluster could not start the job on the nodes that it had given it: {message}.",
        "The job needs no fix: it is retried; if that keeps failing, ask an admin to look at the nodes of the cluster.",
        retryable=True,
    ),
    LOGIN_UNREACHABLE: Ending(
        LOGIN_UNREACHABLE, CONFIGURATION, "The compute nodes cannot reach the login node of the cluster: {message}.",
        "Ask an admin to let nodes through to that port, or to set in the cluster file a relayAddress that nodes can "
        "reach, or a sharedFolder.",
    ),
    "too-large": Ending(
        "too-large", CONFIGURATION, "The task's environment or files are larger than a node accepts: {message}.",
        "Move large values out of env and params into the code package.",
    ),
    SECRET: Ending(
        SECRET, CONFIGURATION, "A secret of the job cannot be used: {message}.",
        "Set it with `muster secret set NAME`, and retry the job.",
    ),
    REJECTED: Ending(
        REJECTED, CONFIGURATION, "The cluster refused the job: {message}.",
        "Change what it refused in the job, or use another cluster, and submit it again.",
    ),
    REFUSED: Ending(
        REJECTED, CONFIGURATION, "{message}.",
        "Change what was refused in the job, or have an admin change the cluster file, and submit it again.",
    ),
}  # fmt: skip
LAUNCH_FAILED = Ending(
    "launch-failed", PLATFORM, "The node could not start the task: {message}.",
    "It is retried; if that keeps failing, run `muster doctor` on the node.", retryable=True,
)  # fmt: skip

EXIT_CODES: Mapping[int, Ending] = {
    124: Ending(
        "command-timeout", USER, "A `timeout` inside the command ran out (exit code 124).",
        "Give the inner timeout more time, or use the job's timeLimit instead.",
    ),
    126: Ending(
        "not-executable", CONFIGURATION, "The command was found but is not executable (exit code 126).",
        "Make the file executable (chmod +x) or name its interpreter in the command.",
    ),
    127: Ending(
        "command-not-found", CONFIGURATION, "The command was not found on the node (exit code 127).",
        "Check the spelling, and that the environment in `runtime` contains the program.",
    ),
}  # fmt: skip
EXITED = Ending(
    "exit", USER, "The program ended with exit code {exit_code}.",
    "The end of its log should say why; set retry.max to have it retried.", retryable=True,
)  # fmt: skip

SIGNALS: Mapping[int, Ending] = {
    1: Ending(
        "hangup", USER, "The program received a hangup signal (SIGHUP).",
        "A script of the job closed its session; make the program ignore SIGHUP.", retryable=True,
    ),
    2: Ending("interrupted", USER, "The program was interrupted (SIGINT).", "Submit it again when ready."),
    4: Ending(
        "illegal-instruction", CONFIGURATION,
        "The program used an instruction that this node's CPU does not have (SIGILL).",
        "Install builds for older CPUs (for example without AVX-512), or use newer nodes.",
    ),
    6: Ending(
        "aborted", USER, "The program aborted itself (SIGABRT), as a failed check in native code does.",
        "Look for the last message before the abort in its log.", retryable=True,
    ),
    7: Ending(
        "bus-error", LIMIT, "The program hit a bus error (SIGBUS), most often because shared memory was full.",
        "Use fewer data-loading processes, or ask an admin to enlarge /dev/shm on the node.",
    ),
    8: Ending(
        "arithmetic", USER, "The program stopped on an arithmetic error such as an integer division by zero (SIGFPE).",
        "Check divisors and empty batches.",
    ),
    9: Ending(
        "killed", LIMIT,
        "The program was killed from outside (SIGKILL), most often because the node ran out of memory.",
        "Raise resources.memory so that fewer tasks share the node, or use less memory.", retryable=True,
    ),
    11: Ending(
        "segfault", USER, "The program crashed on an invalid memory access (SIGSEGV).",
        "Check native extensions and library versions; PYTHONFAULTHANDLER=1 shows where it crashed.",
        retryable=True,
    ),
    13: Ending(
        "broken-pipe", USER, "The program wrote to a closed pipe or connection (SIGPIPE).",
        "Check which of its peers or child processes ended first.", retryable=True,
    ),
    15: Ending(
        "terminated", USER, "The program was terminated (SIGTERM), but not by Muster.",
        "Check whether the job's own launcher or someone on the node stopped it.", retryable=True,
    ),
    24: Ending(
        "cpu-time", LIMIT, "The program used up the CPU time that the node allows (SIGXCPU).",
        "Ask an admin to raise the node's limit (ulimit -t).",
    ),
    25: Ending(
        "file-size", LIMIT, "The program wrote a file larger than the node allows (SIGXFSZ).",
        "Split the file, or ask an admin to raise the node's limit (ulimit -f).",
    ),
}  # fmt: skip
SIGNALLED = Ending(
    "signal", USER, "The program was ended by signal {signal}.",
    "The end of its log may say why; set retry.max to have it retried.", retryable=True,
)  # fmt: skip
