"""The table of patterns that identify a cause in the last lines of a log. The most specific rows come first.

This module contains only data; `diagnosis` searches it. A pattern matches one line. Its named groups fill in the texts,
so a row that quotes a size or a name comes before the row for the same problem without one.

A lost peer counts as a fault of the user although the network may be the cause: in most gangs the peer failed on its
own bug a moment earlier, and retries that do not count would hide that bug.
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
# The pattern is anchored at a word boundary and bounded; otherwise a line of garbage would take quadratic time.
_PATH = r"(?<![^\s:'\"])(?P<path>[^\s:'\"]{1,255})"
_HOST_PORT = r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}:\d{1,5}"
_GPU_MEMORY_ADVICE = "Use a smaller batch or model, or ask for GPUs with more memory (resources.gpuType)."
_PEER_ADVICE = "Look at the logs of the other workers first: one of them probably failed or hung earlier."
_MODULE_ADVICE = "Install it in the environment that `runtime` names, or add it to the code package."
_ENVIRONMENT_ADVICE = (
    "`muster env list` shows the environments and their nodes; `where.nodes` restricts a job to such nodes."
)
_PATH_ADVICE = "Paths are relative to the code package; check the name, and that the data is mounted on the node."

SYMPTOMS: tuple[Symptom, ...] = (
    # Memory of the accelerator
    _row("gpu-memory", LIMIT,
         rf"out of memory\. Tried to allocate (?P<wanted>{_SIZE}).*?(?:total capacity of |GPU \d+; )(?P<total>{_SIZE})"
         rf".*?(?P<free>{_SIZE}) (?:is )?free",
         "The GPU ran out of memory: {wanted} were requested, and {free} of {total} were free.", _GPU_MEMORY_ADVICE),
    _row("gpu-memory", LIMIT,
         rf"Cannot allocate (?P<wanted>{_SIZE}) memory on GPU \d+.*?available memory is only (?P<free>{_SIZE})",
         "The GPU ran out of memory: {wanted} were requested, and {free} were free.", _GPU_MEMORY_ADVICE),
    _row("gpu-memory", LIMIT,
         rf"(?:out of memory\. Tried to allocate|Out of memory (?:while trying to allocate|allocating)) "
         rf"(?P<wanted>{_SIZE}|\d+ bytes)",
         "The GPU ran out of memory: {wanted} were requested.", _GPU_MEMORY_ADVICE),
    _row("gpu-memory", LIMIT,
         r"(?:CUDA|HIP) (?:error: )?out of memory|CUDA_ERROR_OUT_OF_MEMORY|CUDA error\(2\)|CUBLAS_STATUS_ALLOC_FAILED"
         r"|OOM when allocating tensor|Out of memory error on GPU|cudaErrorMemoryAllocation",
         "The GPU ran out of memory.", _GPU_MEMORY_ADVICE),
    # The accelerator itself, its driver, its libraries
    _row("gpu-hardware", PLATFORM,
         r"uncorrectable ECC|fallen off the bus|NVRM: Xid|Unable to determine the device handle for GPU",
         "A GPU of the node is broken.",
         "It is retried; ask an admin to drain the node.", retryable=True),
    _row("cuda-driver", CONFIGURATION,
         r"driver version is insufficient for CUDA runtime|NVIDIA driver on your system is too old",
         "The node's NVIDIA driver is too old for the CUDA version of the framework.",
         "Install a build of the framework for an older CUDA version, or ask an admin to update the driver."),
    _row("cuda-build", CONFIGURATION,
         r"[Nn]ot compiled with CUDA|PaddlePaddle (?:is not|should be) compiled with CUDA"
         r"|without (?:GPU|CUDA) support",
         "The framework in this environment was built without CUDA.",
         "Install its GPU build in the environment that `runtime` names, or run on the CPU."),
    _row("cuda-architecture", CONFIGURATION,
         r"no kernel image is available for execution|is not compatible with the current \w+ installation",
         "The framework does not support this GPU model.",
         "Install a build that supports this GPU, or choose another resources.gpuType."),
    _row("no-gpu", CONFIGURATION,
         r"no CUDA-capable device is detected|No CUDA GPUs are available|Found no NVIDIA driver|CUDA_ERROR_NO_DEVICE"
         r"|CUDA error\(100\)|No HIP GPUs are available",
         "The program needs a GPU, but the task has none.",
         "Ask for one with resources.gpu, or let the program run on the CPU."),
    _row("gpu-number", USER, r"invalid device ordinal",
         "The program chose a GPU number that the task does not have.",
         "Number the task's own GPUs from 0 (LOCAL_RANK); the GPU numbers of the node do not apply."),
    _row("cuda-assert", USER, r"device-side assert triggered",
         "A check inside a GPU kernel failed, most often an index or label out of range.",
         "Check label ranges and embedding sizes; CUDA_LAUNCH_BLOCKING=1 shows where."),
    _row("cuda-access", USER, r"an illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS|CUDA error\(700\)",
         "A GPU kernel touched memory that is not its own.",
         "CUDA_LAUNCH_BLOCKING=1 shows where; check custom kernels and library versions.", retryable=True),
    _row("cudnn", CONFIGURATION, r"(?P<status>CUDNN_STATUS_(?!SUCCESS)\w+)",
         "cuDNN failed with {status}.",
         "Check that the versions of cuDNN, CUDA and the framework match; low GPU memory can also cause this."),
    # Communication
    _row("nccl-timeout", USER,
         r"Watchdog caught collective operation timeout|NCCL.*\b[Tt]imed?[ -]?out|ncclTimeout"
         r"|Some NCCL operations have failed or timed out",
         "A collective operation (NCCL) timed out because a worker did not take part.", _PEER_ADVICE,
         retryable=True),
    _row("nccl", PLATFORM,
         r"ncclSystemError|ncclUnhandledCudaError|ncclInternalError|NCCL.*unhandled (?:system|cuda) error",
         "NCCL failed in a call to the system or the driver.",
         "It is retried; NCCL_DEBUG=INFO shows the call. The cause is often /dev/shm or the network interface.",
         retryable=True),
    _row("nccl-peer", USER, r"ncclRemoteError|NCCL.*remote process exited",
         "A worker at the other end of an NCCL connection disappeared.", _PEER_ADVICE, retryable=True),
    _row("gloo", USER,
         r"(?i:gloo).*(?:[Cc]onnection refused|connectFullMesh failed|[Tt]imed? ?out|Connection closed by peer"
         r"|Connection reset by peer)",
         "Gloo could not reach one of the workers.", _PEER_ADVICE, retryable=True),
    _row("rendezvous", USER,
         r"RendezvousTimeoutError|(?:client socket|TCPStore|tcp_store).*(?:[Tt]imed? ?out|[Cc]onnection refused)"
         r"|DEADLINE_EXCEEDED: Barrier timed out",
         "The workers did not all find each other in time.", _PEER_ADVICE, retryable=True),
    _row("port-in-use", PLATFORM, r"EADDRINUSE|[Aa]ddress already in use|bind\(\) failed.*errno:? ?98",
         "A port that the program wanted to use was already taken.",
         "It is retried with other ports; make the program use the ports in its environment instead of a fixed one.",
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
         "Check the name; nodes may have no access to the internet.", retryable=True),
    _row("no-route", CONFIGURATION, r"Network is unreachable|No route to host",
         "The node cannot reach a host that the program tried to connect to.",
         "Download data and models first and mount them; nodes may have no access to the internet.", retryable=True),
    # Space and other limits of the node
    _row("shared-memory", LIMIT, r"insufficient shared memory|DataLoader worker .* killed by signal: Bus error",
         "Shared memory (/dev/shm) was full.",
         "Use fewer data-loading processes, or ask an admin to enlarge /dev/shm on the node."),
    _row("disk-quota", LIMIT, r"Disk quota exceeded|EDQUOT|\[Errno 122\]",
         "The disk quota is used up.", "Delete old checkpoints, or ask for a larger quota."),
    _row("disk-full", CAPACITY, r"No space left on device|ENOSPC|\[Errno 28\]",
         "A disk of the node was full.",
         "It is retried; write large files to shared storage, or ask an admin to free space if it keeps failing.",
         retryable=True),
    _row("host-memory", LIMIT, r"Out of memory: Killed process|oom[-_]kill|oom_reaper|Killed process \d+ .*rss",
         "The node ran out of memory and its kernel killed the program.",
         "Raise resources.memory so that the task gets a node with more free memory, or use less memory."),
    _row("memory", LIMIT,
         r"^MemoryError\b|: MemoryError\b|numpy.*Unable to allocate|Unable to allocate .* for an array|std::bad_alloc"
         r"|DefaultCPUAllocator: (?:can't|not enough)|[Cc]annot allocate memory|\[Errno 12\]",
         "The program asked for more main memory than it could get.",
         "Raise resources.memory, or use smaller batches and fewer data-loading processes."),
    _row("open-files", LIMIT, r"Too many open files|EMFILE|\[Errno 24\]",
         "The program opened more files than the node allows.",
         "Close files and data loaders, or ask an admin to raise the node's limit (ulimit -n)."),
    # Environment, files and arguments of the program
    _row("missing-environment", CONFIGURATION, r"^muster: there is no environment (?P<path>.+) on this node$",
         "The environment {path}, which `runtime` names, is not on the node.", _ENVIRONMENT_ADVICE),
    _row("missing-environment", CONFIGURATION, r"^muster: the Python of the environment (?P<path>.+) is gone",
         "The environment {path} is broken: its bin/python links to a missing Python.", _ENVIRONMENT_ADVICE),
    _row("missing-module", USER, r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<module>[\w.]+)",
         "The Python module {module} is not installed.", _MODULE_ADVICE),
    _row("missing-module", USER, r"python[\d.]*: No module named '?(?P<module>[\w.]+)",
         "The Python module {module} is not installed.", _MODULE_ADVICE),
    _row("import-name", USER, r"ImportError: cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'",
         "The Python module {module} has no {name}.",
         "Install the version that the program was written for, and check that no file of yours hides a library."),
    _row("missing-library", CONFIGURATION, r"(?P<library>lib[\w.+-]+\.so[\d.]*): cannot open shared object file",
         "The library {library} is missing on the node.",
         "Install it in the environment that `runtime` names, or add its folder to LD_LIBRARY_PATH."),
    _row("old-system", CONFIGURATION, r"version `(?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
         "The program was built for a newer system: {version} is missing on the node.",
         "Build it on an older system, or run it in an environment or image that has it."),
    _row("illegal-instruction", CONFIGURATION, r"[Ii]llegal instruction",
         "The program used an instruction that this node's CPU does not have.",
         "Install builds for older CPUs (for example without AVX-512), or use newer nodes."),
    _row("missing-file", USER, r"can't open file '(?P<path>[^']+)'",
         "The script {path} does not exist.", _PATH_ADVICE),
    _row("missing-file", USER,
         r"FileNotFoundError: .*?(?P<quote>['\"])(?P<path>.+?)(?P=quote)",
         "The file {path} does not exist.", _PATH_ADVICE),
    _row("command-not-found", CONFIGURATION,
         r"(?:: |exec: |^)(?P<command>[\w./+-]+): (?:command )?not found|env: .(?P<other>[\w./+-]+).: No such file",
         "The command {command}{other} was not found on the node.",
         "Check the spelling, and that the environment in `runtime` contains the program."),
    _row("missing-file", USER, rf"{_PATH}'?: No such file or directory",
         "The file {path} does not exist.", _PATH_ADVICE),
    _row("permission", CONFIGURATION, r"PermissionError: .*?'(?P<path>[^']+)'",
         "The program may not use {path}.",
         "Write to the task's own folder or a mount that is not read-only, or ask for the permissions to be changed."),
    _row("permission", CONFIGURATION, rf"{_PATH}'?: Permission denied",
         "The program may not use {path}.",
         "Make it executable or readable, or write to the task's own folder instead."),
    _row("read-only", CONFIGURATION, r"Read-only file system",
         "The program wrote to a folder that is mounted read-only.",
         "Write to the task's own folder, or mount it without readOnly."),
    _row("bad-arguments", USER,
         r"error: (?P<message>(?:unrecognized arguments|the following arguments are required|argument [^:]+:).*)",
         "The program did not understand its arguments: {message}.", "Fix the command in the job."),
    # The program itself
    _row("syntax", USER, r"^(?P<error>SyntaxError|IndentationError|TabError): (?P<message>.*)",
         "The program is not valid Python: {message}.",
         "Fix it, and check that the Python of the environment is new enough for it."),
    _row("not-a-number", USER,
         r"(?i:loss (?:is|became|was|:|=) ?(?:nan|inf)\b.*(?:stop|abort|exit))|There are NAN or INF"
         r"|(?i:^floatingpointerror)|RuntimeError: Function '\w+' returned nan values",
         "The training diverged: a loss or gradient became NaN or infinite.",
         "Lower the learning rate, clip gradients, or check the input for invalid values."),
    _row("paddle-precondition", USER, r"PreconditionNotMetError: ?(?P<message>.*)",
         "Paddle refused an operation whose preconditions were not met: {message}",
         "Check that everything is initialised (fleet.init, place, program) before it is used."),
    _row("paddle-argument", USER, r"\(InvalidArgument\) (?P<message>.*)|^InvalidArgumentError: (?P<other>.*)",
         "An operation received invalid arguments: {message}{other}",
         "Check shapes, types and devices of its inputs."),
    _row("paddle-external", USER, r"ExternalError: ?(?P<message>.*)|\(External\) (?P<other>.*)",
         "A library below Paddle failed: {message}{other}",
         "Check that the versions of the driver, CUDA and Paddle match.", retryable=True),
    _row("python-bug", USER,
         r"^(?P<error>NameError|UnboundLocalError|AttributeError|TypeError|NotImplementedError|ZeroDivisionError"
         r"|RecursionError): (?P<message>.+)",
         "The program has an error: {error}: {message}.", "Fix it: a retry would fail in the same way."),
)  # fmt: skip
