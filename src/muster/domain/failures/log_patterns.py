"""The table of patterns that identify a cause in the last lines of a log. The most specific rows come first.

This module contains only data; `diagnosis` searches it. A pattern matches one line. Its named groups fill in the texts,
so a row that quotes a size or a name comes before the row for the same problem without one.

A lost peer counts as a fault of the user although the network may be the cause: in most gangs the peer failed on its
own bug a moment earlier, and retries that do not count would hide that bug. What such a peer says of its end is the
cause then, if it says anything.
"""

import re
from dataclasses import dataclass

from muster.domain.failures.exit_causes import CAPACITY, CONFIGURATION, LIMIT, PLATFORM, USER, Ending
from muster.domain.failures.faults import FaultKind


@dataclass(frozen=True, slots=True)
class Symptom:
    pattern: re.Pattern[str]
    ending: Ending
    exit_code: int | None = None
    """The row applies only to tasks that ended with this code, if there is one."""
    in_pipe: bool = False
    """The row applies only to tasks whose command is a pipe."""


def _row(
    code: str,
    kind: FaultKind,
    pattern: str,
    cause: str,
    advice: str,
    *,
    retryable: bool = False,
    exit_code: int | None = None,
    in_pipe: bool = False,
) -> Symptom:
    return Symptom(re.compile(pattern), Ending(code, kind, cause, advice, retryable), exit_code, in_pipe)


_SIZE = r"[\d.]{1,20} ?[KMGT]?i?B"
# The pattern is anchored at a word boundary and bounded; otherwise a line of garbage would take quadratic time.
_PATH = r"(?<![^\s:'\"])(?P<path>[^\s:'\"]{1,255})"
_NAME = r"[^\s:'\"‘’`]{1,255}"
_PROGRAMS = (
    "cat|cd|cmp|comm|cp|cut|diff|du|find|grep|gzip|head|join|ls|make|md5sum|mv|nl|od|paste|rm|sed|sha256sum|sort|tac|tail"
    "|tar|tee|uniq|wc|zcat"
)
_VERBS = "open|read|create|stat|access|load|find|opening|reading|loading|writing"
# A word before an error is the name of a file only where programs write one. perror("open"), for example, has none.
_FILE = (
    r"(?:(?<!\S)[‘'\"`](?P<path>[^‘’'\"`]{1,255})['’\"](?: for [a-z]{1,20})?(?: failed)?"
    r"|^[^\s:]{1,255}: (?:line )?\d{1,9}: (?:(?:cd|exec|source|\.): )?(?:cannot (?:open|create) )?"
    rf"(?P<other>{_NAME})"
    rf"|^(?:{_PROGRAMS}): (?:can't read |cannot read: |open failed: )?(?P<third>{_NAME})"
    rf"|(?:^|: |\b(?:{_VERBS})(?: file| directory)? )(?=[^\s:'\"‘’`]{{0,200}}(?:/|[A-Za-z]\.\w))(?P<fourth>{_NAME})"
    r"): (?:[Cc]annot (?:open|execute): )?"
)
_FILE_NAME = "{path}{other}{third}{fourth}"
_MISSING = r"(?:No such file(?: or directory)?(?!\w)|Directory nonexistent)"
_HOST_PORT = r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}:\d{1,5}"
_GPU_MEMORY_ADVICE = "Use a smaller batch or model, or ask for GPUs with more memory (resources.gpuType)."
_PEER_ADVICE = "Look at the logs of the other workers first: one of them probably failed or hung earlier."
LOST_PEER = frozenset({"nccl", "nccl-peer", "nccl-timeout", "gloo", "rendezvous", "peer-refused", "peer-lost"})
"""Codes that may only tell what the failure of another task looks like from here."""
_MODULE_ADVICE = "Install it in the environment that `runtime` names, or add it to the code package."
_ENVIRONMENT_ADVICE = (
    "`muster env list` shows the environments and their nodes; `where.nodes` restricts a job to such nodes."
)
_COMMAND_ADVICE = "Check the spelling, and that the environment in `runtime` contains the program."
_IMAGE_ADVICE = (
    "Name an image in `runtime` that has it, or a program of this image. A command that is text needs /bin/sh, or the"
    " shell that it names, such as bash; one that is a list needs none."
)
_CRLF_ADVICE = (
    "Convert it with `dos2unix` or `sed -i 's/\\r$//'`, and let git keep it so: `*.sh text eol=lf` in .gitattributes."
)
_EXECUTABLE_ADVICE = (
    "Make it executable with `chmod +x` and submit it again, or name its interpreter: `bash script.sh`."
)
_PERMISSION_ADVICE = "Make it executable or readable, or write to the task's own folder instead."
_PATH_ADVICE = "Paths are relative to the code package; check the name, and that the data is mounted on the node."

SYMPTOMS: tuple[Symptom, ...] = (
    # What Muster itself says
    _row("missing-package", CONFIGURATION,
         r"^muster: the package (?P<path>.+) cannot be entered on this node$",
         "The package {path}, which the job uses where it lies, cannot be entered on the node.",
         "`muster fs ls` shows whether it is there; its owner can let others read it.", exit_code=126),
    _row("ssh-unusable", CONFIGURATION,
         r"^muster: ssh cannot be used here: (?P<why>.+)",
         "The tasks of the job cannot reach each other by ssh: {why}.",
         "Have it put right on the node or in the image, or take `ssh` out of the job.", exit_code=1),
    _row("permission", CONFIGURATION,
         r"^muster: (?P<path>.+) of the job file cannot be made in the container$",
         "The job file wants {path} in the container, and the task's account may not write there.",
         "Use an image that has the folder and lets everybody write to it, or mount one: --set 'mounts=[…]'.",
         exit_code=1),
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
    # Starting as a member of a gang
    _row("missing-rank", CONFIGURATION,
         r"environment variable (?P<variable>[A-Z_]+) expected, but not set|KeyError: ['\"](?P<other>RANK|WORLD_SIZE"
         r"|LOCAL_WORLD_SIZE|MASTER_ADDR|MASTER_PORT|PADDLE_\w+|TF_CONFIG|JAX_\w+|OMPI_COMM_\w+)['\"]",
         "The program is distributed and found no variable {variable}{other}.",
         "Run it with `--workers 2` or more, name its framework (`framework: torch`), or start it with its launcher."),
    _row("missing-local-rank", CONFIGURATION, r"KeyError: ['\"](?P<variable>LOCAL_RANK)['\"]",
         "The program found no variable LOCAL_RANK, which a launcher sets in every process that it starts.",
         "Start it with `torchrun`. For one process per task, ask for one GPU per worker or say `framework: torch`."),
    _row("paddle-launch", CONFIGURATION, r"RuntimeError: The global group is not initialized",
         "Paddle was started for one process, so the tasks did not train together.",
         "Call `python train.py` instead of Paddle's launcher, or give each task a machine (`where.spread: apart`)."),
    _row("mpi-slots", CONFIGURATION, r"[Nn]ot enough slots available in the system",
         "mpirun was asked for more processes than the job has slots.",
         "Ask for more workers or fewer processes; `--hostfile $MUSTER_TASK_DIR/$MUSTER_HOSTFILE` names the slots."),
    _row("mpi-root", CONFIGURATION, r"(?:mpirun|prterun|mpiexec) has detected an attempt to run as root",
         "mpirun refuses to run as root, which the task's account is.",
         "Give mpirun --allow-run-as-root, or run the job on a cluster where tasks have accounts of their own."),
    _row("mpi-hosts", CONFIGURATION,
         r"(?:ORTE|PRTE|PRRTE) (?:was unable to|has lost communication)|unable to reliably start one or more daemons",
         "mpirun could not start its helpers on the other nodes.",
         "mpirun needs SSH between the nodes, without a password; frameworks with a rendezvous of their own do not."),
    _row("nccl-interface", CONFIGURATION, r"[Nn]o socket interface found",
         "NCCL found no network interface to the other workers.",
         "Name the interface of the nodes in NCCL_SOCKET_IFNAME (and GLOO_SOCKET_IFNAME), such as eth0."),
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
         r"RendezvousTimeoutError|RendezvousConnectionError|RendezvousClosedError|wait timeout after \d+ms, keys"
         r"|waiting for clients\. \d+/\d+ clients joined"
         r"|(?:client socket|TCPStore|tcp_store).*(?:[Tt]imed? ?out|[Cc]onnection refused)"
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
    _row("broken-pipe", USER, r"BrokenPipeError",
         "A program of the command wrote into its pipe after the next program of the pipe had ended.",
         "Let the next program read to the end: `sed -n 1p` instead of `head -1`; or write into a file and read that.",
         in_pipe=True),
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
    _row("crlf", USER,
         r"^muster: the script (?P<path>.+) has Windows line ends"
         r"|(?<![^\s:])(?P<other>[^\s:]{1,255}): [^\s:]{1,255}\^M: bad interpreter",
         "The script {path}{other} has Windows line ends (CRLF), so its interpreter was not found.", _CRLF_ADVICE),
    _row("crlf", USER, r"env: .(?P<command>[\w./+-]+)\\r.: No such file",
         "A script has Windows line ends (CRLF), so its interpreter {command} was not found.", _CRLF_ADVICE),
    _row("crlf", USER, r"\$'[^']{0,80}\\r'|^: not found$",
         "A shell script has Windows line ends (CRLF).", _CRLF_ADVICE),
    _row("missing-interpreter", CONFIGURATION,
         r"^muster: the interpreter of the script (?P<path>.+) is not there: (?P<command>.+)"
         r"|(?<![^\s:])(?P<other>[^\s:]{1,255}): (?P<interpreter>[^\s:]{1,255}): bad interpreter",
         "The interpreter {command}{interpreter} of the script {path}{other} is not on the node.",
         "Name one in its first line that the node has, or say it in the command: `python3 script.py`."),
    _row("not-executable", USER, r"^muster: the file (?P<path>.+) is not executable$",
         "The script {path} is not executable.", _EXECUTABLE_ADVICE),
    _row("not-executable", USER,
         r"(?:^|: (?:line )?\d+: |exec: |^env: |run command )[‘'\"]?(?P<path>[^\s:‘’'\"]{1,255})[’'\"]?: "
         r"(?:cannot execute: )?[Pp]ermission denied",
         "The script {path} is not executable.", _EXECUTABLE_ADVICE, exit_code=126),
    _row("not-executable", USER, r"^muster: (?P<path>.+) is a folder, not a program$",
         "The command {path} is a folder.", "Name the program in it that is to run."),
    _row("exec-format", USER, rf"{_PATH}['\"]?: (?:cannot execute(?: binary file)?: )?[Ee]xec format error",
         "The node cannot run {path}: it names no interpreter, or was built for another kind of CPU.",
         "Write `#!/bin/sh` or `#!/usr/bin/env python3` in its first line, or name the interpreter in the command."),
    _row("no-shebang", USER, rf"{_PATH}(?<=\.py): (?:line )?\d+: .*(?:not found|[Ss]yntax error)",
         "The script {path} names no interpreter in its first line, so a shell ran it instead of Python.",
         "Run `python3 {path}`, or write `#!/usr/bin/env python3` in its first line."),
    _row("command-not-found", CONFIGURATION,
         r"^muster: the command (?P<command>.+) is in no folder of the PATH .*$",
         "The command {command} is not on the PATH of the node.", _COMMAND_ADVICE),
    _row("command-not-found", CONFIGURATION,
         r"^\[FATAL tini \(\d+\)\] exec (?P<command>.+) failed: No such file"
         r"|^(?:Error|docker): .*exec: \"(?P<other>[^\"]{1,255})\": (?:executable file not found|stat .*: no such file)"
         r"|^Error: .*executable file [`'](?P<third>[^`']{1,255})[`'] not found",
         "The image has no program {command}{other}{third}.", _IMAGE_ADVICE),
    _row("command-not-found", CONFIGURATION, r"^ERROR \(catatonit:\d+\): failed to exec pid1: No such file",
         "The image does not have the program with which the command begins, which is a shell if the command is text.",
         _IMAGE_ADVICE),
    _row("missing-file", USER, r"^muster: there is no file (?P<path>.+) to run in (?P<folder>.+)$",
         "The command {path} does not exist.", _PATH_ADVICE),
    _row("too-large", CONFIGURATION, r"Argument list too long|\[Errno 7\]",
         "The command and its variables are longer than Linux passes to a program.",
         "Move large values out of env, params and the command into files of the code package."),
    _row("missing-environment", CONFIGURATION, r"^muster: there is no environment (?P<path>.+) on this node$",
         "The environment {path}, which `runtime` names, is not on the node.", _ENVIRONMENT_ADVICE),
    _row("missing-environment", CONFIGURATION, r"^muster: the Python of the environment (?P<path>.+) is gone",
         "The environment {path} is broken: its bin/python links to a missing Python.", _ENVIRONMENT_ADVICE),
    _row("environment-activation", CONFIGURATION,
         r"^muster: the activation of the environment (?P<path>.+?) failed: (?P<message>.+)$",
         "The conda environment {path} cannot be activated: {message}.",
         "Fix the script in etc/conda/activate.d of the environment, or the package that installed it."),
    _row("missing-module", USER, r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<module>[\w.]+)",
         "The Python module {module} is not installed.", _MODULE_ADVICE),
    _row("missing-module", USER,
         r"(?:python[\d.]*: | cannot import \w{1,40} \()No module named '?(?P<module>[\w.]+)",
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
    _row("permission", CONFIGURATION, r"can't open file '(?P<path>[^']+)': \[Errno 13\]",
         "The program may not use {path}.", _PERMISSION_ADVICE),
    _row("missing-file", USER, r"can't open file '(?P<path>[^']+)'",
         "The script {path} does not exist.", _PATH_ADVICE),
    _row("missing-file", USER,
         r"FileNotFoundError: .*?(?P<quote>['\"])(?P<path>.+?)(?P=quote)",
         "The file {path} does not exist.", _PATH_ADVICE),
    _row("command-not-found", CONFIGURATION,
         r"(?:: |exec: |^)(?P<command>[\w./+-]+): (?:command )?not found|env: .(?P<other>[\w./+-]+).: No such file",
         "The command {command}{other} was not found on the node.",
         _COMMAND_ADVICE),
    _row("missing-file", USER, rf"{_FILE}{_MISSING}", f"The file {_FILE_NAME} does not exist.", _PATH_ADVICE),
    _row("missing-file", USER, r"\S: No such file or directory",
         "A file that the program wanted to use does not exist.", _PATH_ADVICE),
    _row("permission", CONFIGURATION, r"PermissionError: .*?'(?P<path>[^']+)'",
         "The program may not use {path}.",
         "Write to the task's own folder or a mount that is not read-only, or ask for the permissions to be changed."),
    _row("permission", CONFIGURATION, rf"{_FILE}Permission denied",
         f"The program may not use {_FILE_NAME}.", _PERMISSION_ADVICE),
    _row("permission", CONFIGURATION, r"\S: Permission denied",
         "The program may not use a file that it needs.", _PERMISSION_ADVICE),
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
