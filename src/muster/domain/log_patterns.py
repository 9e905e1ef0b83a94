"""What the last lines of a log say about the cause: one table, most telling rows first.

Data and nothing else; `diagnosis` searches it. A pattern looks at one line. Its named groups fill the texts, so a row
that quotes a size or a name stands before the row for the same trouble without one.

A lost peer is on the user's account although the network may be at fault: in most gangs the peer died of its own bug a
moment earlier, and retries that cost nobody anything would hide it.
"""

import re
from dataclasses import dataclass

from muster.domain.exit_causes import CAPACITY, CONFIGURATION, LIMIT, PLATFORM, USER, Ending
from muster.domain.faults import FaultKind


@dataclass(frozen=True, slots=True)
class Symptom:
    pattern: re.Pattern[str]
    ending: Ending


def _row(code: str, kind: FaultKind, pattern: str, cause: str, advice: str, *, retryable: bool = False) -> Symptom:
    return Symptom(re.compile(pattern), Ending(code, kind, cause, advice, retryable))


_SIZE = r"[\d.]{1,20} ?[KMGT]?i?B"
# Anchored where a word begins and bounded, or a line of garbage would cost the square of its length.
_PATH = r"(?<![^\s:'\"])(?P<path>[^\s:'\"]{1,255})"
_HOST_PORT = r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}:\d{1,5}"
_GPU_MEMORY_ADVICE = "Use a smaller batch or model, or ask for cards with more memory (resources.gpuType)."
_PEER_ADVICE = "Look at the logs of the other workers first: one of them probably failed or hung before."
_MODULE_ADVICE = "Install it in the environment that `runtime` names, or put it into the code package."
_ENVIRONMENT_ADVICE = (
    "`muster env list` shows which environments there are, and on which nodes; `where.nodes` keeps a job to those."
)
_PATH_ADVICE = "Paths are relative to the code package; check the name, and that the data is mounted on the node."

SYMPTOMS: tuple[Symptom, ...] = (
    # Memory of the accelerator
    _row("gpu-memory", LIMIT,
         rf"out of memory\. Tried to allocate (?P<wanted>{_SIZE}).*?(?:total capacity of |GPU \d+; )(?P<total>{_SIZE})"
         rf".*?(?P<free>{_SIZE}) (?:is )?free",
         "The GPU ran out of memory: {wanted} more were wanted, {free} of {total} were free.", _GPU_MEMORY_ADVICE),
    _row("gpu-memory", LIMIT,
         rf"Cannot allocate (?P<wanted>{_SIZE}) memory on GPU \d+.*?available memory is only (?P<free>{_SIZE})",
         "The GPU ran out of memory: {wanted} more were wanted, {free} were free.", _GPU_MEMORY_ADVICE),
    _row("gpu-memory", LIMIT,
         rf"(?:out of memory\. Tried to allocate|Out of memory (?:while trying to allocate|allocating)) "
         rf"(?P<wanted>{_SIZE}|\d+ bytes)",
         "The GPU ran out of memory: {wanted} more were wanted.", _GPU_MEMORY_ADVICE),
    _row("gpu-memory", LIMIT,
         r"(?:CUDA|HIP) (?:error: )?out of memory|CUDA_ERROR_OUT_OF_MEMORY|CUDA error\(2\)|CUBLAS_STATUS_ALLOC_FAILED"
         r"|OOM when allocating tensor|Out of memory error on GPU|cudaErrorMemoryAllocation",
         "The GPU ran out of memory.", _GPU_MEMORY_ADVICE),
    # The accelerator itself, its driver, its libraries
    _row("gpu-hardware", PLATFORM,
         r"uncorrectable ECC|fallen off the bus|NVRM: Xid|Unable to determine the device handle for GPU",
         "A GPU of the node is broken.",
         "It is tried again; ask an administrator to drain the node.", retryable=True),
    _row("cuda-driver", CONFIGURATION,
         r"driver version is insufficient for CUDA runtime|NVIDIA driver on your system is too old",
         "The node's NVIDIA driver is too old for the CUDA version of the framework.",
         "Install a build of the framework for an older CUDA, or have the driver updated."),
    _row("cuda-build", CONFIGURATION,
         r"[Nn]ot compiled with CUDA|PaddlePaddle (?:is not|should be) compiled with CUDA"
         r"|without (?:GPU|CUDA) support",
         "The framework in this environment was built without CUDA.",
         "Install its GPU build in the environment that `runtime` names, or run on the CPU."),
    _row("cuda-architecture", CONFIGURATION,
         r"no kernel image is available for execution|is not compatible with the current \w+ installation",
         "The framework has no code for this model of GPU.",
         "Install a build that knows the card, or choose another resources.gpuType."),
    _row("no-gpu", CONFIGURATION,
         r"no CUDA-capable device is detected|No CUDA GPUs are available|Found no NVIDIA driver|CUDA_ERROR_NO_DEVICE"
         r"|CUDA error\(100\)|No HIP GPUs are available",
         "The program wants a GPU and the task has none.",
         "Ask for one with resources.gpu, or let the program run on the CPU."),
    _row("gpu-number", USER, r"invalid device ordinal",
         "The program chose a GPU number that the task does not have.",
         "Count from 0 among the task's own cards (LOCAL_RANK); numbers of the node do not apply."),
    _row("cuda-assert", USER, r"device-side assert triggered",
         "A check inside a GPU kernel failed, most often an index or label out of range.",
         "Check label ranges and embedding sizes; CUDA_LAUNCH_BLOCKING=1 shows where."),
    _row("cuda-access", USER, r"an illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS|CUDA error\(700\)",
         "A GPU kernel touched memory that is not its own.",
         "CUDA_LAUNCH_BLOCKING=1 shows where; suspect custom kernels and mismatched versions.", retryable=True),
    _row("cudnn", CONFIGURATION, r"(?P<status>CUDNN_STATUS_(?!SUCCESS)\w+)",
         "cuDNN failed with {status}.",
         "Check that cuDNN, CUDA and the framework belong together; short GPU memory also shows this way."),
    # Talking to each other
    _row("nccl-timeout", USER,
         r"Watchdog caught collective operation timeout|NCCL.*\b[Tt]imed?[ -]?out|ncclTimeout"
         r"|Some NCCL operations have failed or timed out",
         "A collective operation (NCCL) timed out because some worker did not take part.", _PEER_ADVICE,
         retryable=True),
    _row("nccl", PLATFORM,
         r"ncclSystemError|ncclUnhandledCudaError|ncclInternalError|NCCL.*unhandled (?:system|cuda) error",
         "NCCL failed in a call to the system or the driver.",
         "It is tried again; NCCL_DEBUG=INFO shows the call, and /dev/shm or the network interface is often at fault.",
         retryable=True),
    _row("nccl-peer", USER, r"ncclRemoteError|NCCL.*remote process exited",
         "A worker on the other end of an NCCL connection went away.", _PEER_ADVICE, retryable=True),
    _row("gloo", USER,
         r"(?i:gloo).*(?:[Cc]onnection refused|connectFullMesh failed|[Tt]imed? ?out|Connection closed by peer"
         r"|Connection reset by peer)",
         "Gloo could not reach one of the workers.", _PEER_ADVICE, retryable=True),
    _row("rendezvous", USER,
         r"RendezvousTimeoutError|(?:client socket|TCPStore|tcp_store).*(?:[Tt]imed? ?out|[Cc]onnection refused)"
         r"|DEADLINE_EXCEEDED: Barrier timed out",
         "The workers did not all find each other in time.", _PEER_ADVICE, retryable=True),
    _row("port-in-use", PLATFORM, r"EADDRINUSE|[Aa]ddress already in use|bind\(\) failed.*errno:? ?98",
         "A port that the program wanted was taken.",
         "It is tried again with other ports; let the program use the ports of its environment and no fixed one.",
         retryable=True),
    _row("peer-refused", USER,
         rf"(?P<peer>{_HOST_PORT})\S{{0,9}} .{{0,80}}[Cc]onnection refused"
         rf"|[Cc]onnection refused.{{0,80}}?(?P<other>{_HOST_PORT})",
         "Nothing answered at {peer}{other}.",
         "See whether the task that should listen there (a ps, say) failed first.", retryable=True),
    _row("peer-refused", USER, r"ConnectionRefusedError|[Cc]onnection refused",
         "A connection to another task or service was refused.",
         "See whether the task that should listen there (a ps, say) failed first.", retryable=True),
    _row("peer-lost", USER, r"ConnectionResetError|Connection reset by peer|BrokenPipeError",
         "Another task or service closed a connection.", _PEER_ADVICE, retryable=True),
    _row("name-resolution", CONFIGURATION,
         r"Temporary failure in name resolution|Name or service not known|getaddrinfo failed|Could not resolve host",
         "A host name could not be resolved on the node.",
         "Check the name; nodes may have no way to the internet.", retryable=True),
    _row("no-route", CONFIGURATION, r"Network is unreachable|No route to host",
         "The node has no way to a host that the program wanted.",
         "Fetch data and models beforehand and mount them; nodes may have no way to the internet.", retryable=True),
    # Space and other limits of the node
    _row("shared-memory", LIMIT, r"insufficient shared memory|DataLoader worker .* killed by signal: Bus error",
         "Shared memory (/dev/shm) was full.",
         "Use fewer data-loading processes, or have /dev/shm enlarged on the node."),
    _row("disk-quota", LIMIT, r"Disk quota exceeded|EDQUOT|\[Errno 122\]",
         "The disk quota is used up.", "Delete old checkpoints, or ask for a larger quota."),
    _row("disk-full", CAPACITY, r"No space left on device|ENOSPC|\[Errno 28\]",
         "A disk of the node was full.",
         "It is tried again; write large files to shared storage, and have space freed if that goes on.",
         retryable=True),
    _row("host-memory", LIMIT, r"Out of memory: Killed process|oom[-_]kill|oom_reaper|Killed process \d+ .*rss",
         "The node ran out of memory and its kernel killed the program.",
         "Raise resources.memory so that the task gets a roomier node, or use less memory."),
    _row("memory", LIMIT,
         r"^MemoryError\b|: MemoryError\b|numpy.*Unable to allocate|Unable to allocate .* for an array|std::bad_alloc"
         r"|DefaultCPUAllocator: (?:can't|not enough)|[Cc]annot allocate memory|\[Errno 12\]",
         "The program asked for more main memory than it could get.",
         "Raise resources.memory, or use smaller batches and fewer data-loading processes."),
    _row("open-files", LIMIT, r"Too many open files|EMFILE|\[Errno 24\]",
         "The program opened more files than the node allows.",
         "Close files and loaders, or have the node's limit (ulimit -n) raised."),
    # What the program was given
    _row("missing-environment", CONFIGURATION, r"^muster: there is no environment (?P<path>.+) on this node$",
         "The environment {path}, which `runtime` names, is not on the node.", _ENVIRONMENT_ADVICE),
    _row("missing-environment", CONFIGURATION, r"^muster: the Python of the environment (?P<path>.+) is gone",
         "The environment {path} is broken: its bin/python leads to a Python that is gone.", _ENVIRONMENT_ADVICE),
    _row("missing-module", USER, r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<module>[\w.]+)",
         "The Python module {module} is not installed.", _MODULE_ADVICE),
    _row("missing-module", USER, r"python[\d.]*: No module named '?(?P<module>[\w.]+)",
         "The Python module {module} is not installed.", _MODULE_ADVICE),
    _row("import-name", USER, r"ImportError: cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'",
         "The Python module {module} has no {name}.",
         "Install the version that the program was written for; see also that no own file has a library's name."),
    _row("missing-library", CONFIGURATION, r"(?P<library>lib[\w.+-]+\.so[\d.]*): cannot open shared object file",
         "The library {library} is missing on the node.",
         "Install it in the environment that `runtime` names, or add its folder to LD_LIBRARY_PATH."),
    _row("old-system", CONFIGURATION, r"version `(?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
         "The program was built for a newer system: {version} is missing on the node.",
         "Build it on an older system, or run it in an environment or image that has it."),
    _row("illegal-instruction", CONFIGURATION, r"[Ii]llegal instruction",
         "The program used an instruction that this node's CPU does not have.",
         "Install builds for an older CPU (without AVX-512, say), or run on newer nodes."),
    _row("missing-file", USER, r"can't open file '(?P<path>[^']+)'",
         "The script {path} does not exist.", _PATH_ADVICE),
    _row("missing-file", USER,
         r"FileNotFoundError: .*?(?P<quote>['\"])(?P<path>.+?)(?P=quote)",
         "The file {path} does not exist.", _PATH_ADVICE),
    _row("command-not-found", CONFIGURATION,
         r"(?:: |exec: |^)(?P<command>[\w./+-]+): (?:command )?not found|env: .(?P<other>[\w./+-]+).: No such file",
         "The command {command}{other} was not found on the node.",
         "Check the spelling, and that `runtime` names an environment that has the program."),
    _row("missing-file", USER, rf"{_PATH}'?: No such file or directory",
         "The file {path} does not exist.", _PATH_ADVICE),
    _row("permission", CONFIGURATION, r"PermissionError: .*?'(?P<path>[^']+)'",
         "The program may not use {path}.",
         "Write to the task's own folder or a mount that is not read-only, or have the rights changed."),
    _row("permission", CONFIGURATION, rf"{_PATH}'?: Permission denied",
         "The program may not use {path}.",
         "Make it executable or readable, or write to the task's own folder instead."),
    _row("read-only", CONFIGURATION, r"Read-only file system",
         "The program wrote to a place that is mounted read-only.",
         "Write to the task's own folder, or mount it without readOnly."),
    _row("bad-arguments", USER,
         r"error: (?P<message>(?:unrecognized arguments|the following arguments are required|argument [^:]+:).*)",
         "The program did not understand its arguments: {message}.", "Mend the command in the job."),
    # The program itself
    _row("syntax", USER, r"^(?P<error>SyntaxError|IndentationError|TabError): (?P<message>.*)",
         "The program is not valid Python: {message}.",
         "Mend it, and see that the environment's Python is new enough for it."),
    _row("not-a-number", USER,
         r"(?i:loss (?:is|became|was|:|=) ?(?:nan|inf)\b.*(?:stop|abort|exit))|There are NAN or INF"
         r"|(?i:^floatingpointerror)|RuntimeError: Function '\w+' returned nan values",
         "The training diverged: a loss or gradient became not a number.",
         "Lower the learning rate, clip gradients, or check the input for broken values."),
    _row("paddle-precondition", USER, r"PreconditionNotMetError: ?(?P<message>.*)",
         "Paddle refused an operation out of turn: {message}",
         "Check that everything is initialised (fleet.init, place, program) before it is used."),
    _row("paddle-argument", USER, r"\(InvalidArgument\) (?P<message>.*)|^InvalidArgumentError: (?P<other>.*)",
         "An operation was given wrong arguments: {message}{other}",
         "Check shapes, types and devices of its inputs."),
    _row("paddle-external", USER, r"ExternalError: ?(?P<message>.*)|\(External\) (?P<other>.*)",
         "A library below Paddle failed: {message}{other}",
         "Check that driver, CUDA and Paddle belong together.", retryable=True),
    _row("python-bug", USER,
         r"^(?P<error>NameError|UnboundLocalError|AttributeError|TypeError|NotImplementedError|ZeroDivisionError"
         r"|RecursionError): (?P<message>.+)",
         "The program has an error: {error}: {message}.", "Mend it: trying again would end the same way."),
)  # fmt: skip
