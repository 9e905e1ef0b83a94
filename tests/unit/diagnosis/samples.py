"""Ends of real-looking logs, each with the fault it must be classified as and words its cause must have."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    code: str
    says: str
    log: str
    exit_code: int = 1
    is_pipe: bool = False


def _raised(exception: str) -> str:
    frames = '  File "train.py", line 7, in <module>\n    train()\n'
    return f"epoch 1\nTraceback (most recent call last):\n{frames}{exception}\n"


_PADDLE = """\
--------------------------------------
C++ Traceback (most recent call last):
--------------------------------------
0   paddle::memory::allocation::CUDAAllocator::AllocateImpl(unsigned long)

----------------------
Error Message Summary:
----------------------
{message}
"""

SAMPLES = (
    Sample("command-not-found", "with which the command begins, which is a shell if the command is text",
           "ERROR (catatonit:6): failed to exec pid1: No such file or directory"),
    Sample("command-not-found", "The image has no program bash",
           "[FATAL tini (7)] exec bash failed: No such file or directory", exit_code=127),
    Sample("command-not-found", "The image has no program bash",
           'Error: runc: runc create failed: unable to start container process: exec: "bash": executable file not found'
           " in $PATH: OCI runtime attempted to invoke a command that was not found", exit_code=127),
    Sample("command-not-found", "The image has no program bash",
           "Error: crun: executable file `bash` not found in $PATH: No such file or directory: OCI runtime attempted to"
           " invoke a command that was not found", exit_code=127),
    Sample("command-not-found", "The image has no program /opt/train",
           "docker: Error response from daemon: failed to create task for container: OCI runtime create failed: exec: "
           '"/opt/train": stat /opt/train: no such file or directory: unknown', exit_code=127),
    Sample("gpu-memory", "20.00 GiB were requested, and 18.50 GiB of 23.69 GiB were free", _raised(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 23.69 "
        "GiB of which 18.50 GiB is free. Including non-PyTorch memory, this process has 5.18 GiB memory in use.")),
    Sample("gpu-memory", "20.00 MiB were requested, and 10.56 MiB of 10.76 GiB were free", _raised(
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.50 GiB "
        "already allocated; 10.56 MiB free; 9.71 GiB reserved in total by PyTorch)")),
    Sample("gpu-memory", "2.000000GB were requested, and 1.200000GB were free", _PADDLE.format(message=(
        "ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 2.000000GB memory on GPU 0, "
        "14.583740GB memory has been allocated and available memory is only 1.200000GB."))),
    Sample("gpu-memory", "17179869184 bytes were requested", _raised(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 "
        "bytes.")),
    Sample("gpu-memory", "ran out of memory", _raised("RuntimeError: CUDA error: out of memory")),
    Sample("gpu-memory", "ran out of memory", "2024 E cuda_driver.cc:1004] failed: CUDA_ERROR_OUT_OF_MEMORY\n"),
    Sample("gpu-hardware", "broken", _raised("RuntimeError: CUDA error: uncorrectable ECC error encountered")),
    Sample("cuda-driver", "too old", _raised(
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your driver")),
    Sample("cuda-driver", "too old", "CUDA error(35), CUDA driver version is insufficient for CUDA runtime version.\n"),
    Sample("cuda-build", "without CUDA", _raised("AssertionError: Torch not compiled with CUDA enabled")),
    Sample("cuda-architecture", "does not support this GPU model", _raised(
        "RuntimeError: CUDA error: no kernel image is available for execution on the device")),
    Sample("no-gpu", "has none", _raised("RuntimeError: No CUDA GPUs are available")),
    Sample("no-gpu", "has none", _raised(
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU")),
    Sample("gpu-number", "GPU number", _raised("RuntimeError: CUDA error: invalid device ordinal")),
    Sample("cuda-assert", "index or label", _raised("RuntimeError: CUDA error: device-side assert triggered")),
    Sample("cuda-access", "not its own", _raised(
        "RuntimeError: CUDA error: an illegal memory access was encountered")),
    Sample("cudnn", "CUDNN_STATUS_EXECUTION_FAILED", _raised(
        "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")),
    Sample("nccl-timeout", "did not take part",
           "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL("
           "SeqNum=5, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
           "terminate called after throwing an instance of 'c10::DistBackendError'\n"),
    Sample("nccl", "call to the system", _raised(
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system error, "
        "NCCL version 2.18.6")),
    Sample("nccl-peer", "disappeared", _raised(
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:94, ncclRemoteError: A call failed "
        "possibly due to a network error or a remote process exiting prematurely.")),
    Sample("gloo", "could not reach", _raised(
        "RuntimeError: Gloo connectFullMesh failed with [../gloo/gloo/transport/tcp/pair.cc:144] no error")),
    Sample("gloo", "could not reach", _raised(
        "RuntimeError: [../gloo/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.2]:5218")),
    Sample("rendezvous", "find each other", _raised(
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to "
        "(10.0.0.1, 29500).")),
    Sample("port-in-use", "was already taken", _raised(
        "RuntimeError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: "
        "true, code: -98, name: EADDRINUSE, message: address already in use")),
    Sample("port-in-use", "was already taken", _raised("OSError: [Errno 98] Address already in use")),
    Sample("peer-refused", "at 127.0.0.1:8011",
           "W0101 brpc_ps_client.cc:195] Fail to connect Socket{id=1 addr=127.0.0.1:8011}: Connection refused [111]\n"),
    Sample("peer-refused", "was refused", _raised("ConnectionRefusedError: [Errno 111] Connection refused")),
    Sample("broken-pipe", "after the next program of the pipe had ended",
           _raised("BrokenPipeError: [Errno 32] Broken pipe"), is_pipe=True),
    Sample("peer-lost", "closed a connection", _raised("BrokenPipeError: [Errno 32] Broken pipe")),
    Sample("peer-lost", "closed a connection",
           _raised("ConnectionResetError: [Errno 104] Connection reset by peer"), is_pipe=True),
    Sample("peer-lost", "closed a connection", _raised("ConnectionResetError: [Errno 104] Connection reset by peer")),
    Sample("name-resolution", "could not be resolved", _raised(
        "socket.gaierror: [Errno -3] Temporary failure in name resolution")),
    Sample("no-route", "cannot reach a host", _raised("OSError: [Errno 101] Network is unreachable")),
    Sample("shared-memory", "/dev/shm", "ERROR: Unexpected bus error encountered in worker. This might be caused by "
           "insufficient shared memory (shm).\n"),
    Sample("disk-quota", "quota", _raised("OSError: [Errno 122] Disk quota exceeded: 'model.pt'")),
    Sample("disk-full", "was full", _raised("OSError: [Errno 28] No space left on device")),
    Sample("host-memory", "kernel killed", "[123.4] Out of memory: Killed process 4321 (python) total-vm:9kB\n"),
    Sample("memory", "main memory", _raised("MemoryError")),
    Sample("memory", "main memory", _raised(
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array with shape (100000, 100000)"
    )),
    Sample("memory", "main memory", "terminate called after throwing an instance of 'std::bad_alloc'\n"),
    Sample("open-files", "more files", _raised("OSError: [Errno 24] Too many open files: 'part-1'")),
    Sample("environment-activation", "/opt/envs/py310 cannot be activated: /opt/x.sh ended with exit code 3",
           "muster: the activation of the environment /opt/envs/py310 failed: /opt/x.sh ended with exit code 3\n"),
    Sample("missing-environment", "/mnt/envs/miniconda3/envs/py310, which `runtime` names, is not on the node",
        "muster: there is no environment /mnt/envs/miniconda3/envs/py310 on this node\n"),
    Sample("missing-environment", "/opt/torch2 is broken",
        "muster: the Python of the environment /opt/torch2 is gone: bin/python leads nowhere\n"),
    Sample("missing-module", "module paddlenlp.ops is not", _raised(
        "ModuleNotFoundError: No module named 'paddlenlp.ops'")),
    Sample("missing-module", "module torchrun is not", "/usr/bin/python3: No module named torchrun\n"),
    Sample("import-name", "paddle.nn has no Linea", _raised(
        "ImportError: cannot import name 'Linea' from 'paddle.nn' (/opt/py/paddle/nn/__init__.py)")),
    Sample("missing-library", "libcudart.so.11.0", _raised(
        "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory")),
    Sample("old-system", "GLIBC_2.34", "./train: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found "
           "(required by ./train)\n"),
    Sample("illegal-instruction", "CPU does not have", "run.sh: line 3:  77 Illegal instruction     (core dumped)\n"),
    Sample("missing-module", "module torch is not", "/usr/bin/python3 cannot import PyTorch (No module named 'torch'): "
           "set the param `python`, or `runtime` in job.yaml\n"),
    Sample("missing-file", "script /work/trian.py", "python3: can't open file '/work/trian.py': [Errno 2] No such file "
           "or directory\n"),
    Sample("missing-file", "file data/part-0 does", _raised(
        "FileNotFoundError: [Errno 2] No such file or directory: 'data/part-0'")),
    Sample("missing-file", "file data/train.csv does", "head: cannot open\nwc: data/train.csv: No such file or "
           "directory\n"),
    Sample("command-not-found", "command pyhton was", "sh: 1: pyhton: not found\n"),
    Sample("command-not-found", "command mpirun was", "run.sh: line 4: mpirun: command not found\n"),
    Sample("command-not-found", "command python9 was", "/usr/bin/env: ‘python9’: No such file or directory\n"),
    Sample("permission", "/data/out", _raised("PermissionError: [Errno 13] Permission denied: '/data/out'")),
    Sample("permission", "may not use /data/x", "python3: can't open file '/data/x': [Errno 13] Permission denied\n"),
    Sample("permission", "./train.sh", "sh: 1: ./train.sh: Permission denied\n"),
    Sample("not-executable", "The script ./train.sh is not executable", "bash: line 1: ./train.sh: Permission denied\n",
           126),
    Sample("not-executable", "The script ./train.sh is not executable",
           "muster-task: 8: exec: ./train.sh: Permission denied\nmuster: the file ./train.sh is not executable\n", 126),
    Sample("missing-package", "The package /srv/data/x, which the job uses where it lies",
           "cd: can't cd to /srv/data/x\nmuster: the package /srv/data/x cannot be entered on this node\n", 126),
    Sample("permission", "The job file wants /scratch in the container",
           "muster: /scratch of the job file cannot be made in the container\n", 1),
    Sample("ssh-unusable", "cannot reach each other by ssh: there is no sshd: install openssh-server on the node",
           "muster: ssh cannot be used here: there is no sshd: install openssh-server on the node\n", 1),
    Sample("not-executable", "a folder", "muster: ./src is a folder, not a program\n", 126),
    Sample("crlf", "The script ./train.sh has Windows line ends",
           "muster-task: 31: exec: ./train.sh: not found\n"
           "muster: the script ./train.sh has Windows line ends, so its interpreter is not found\n", 127),
    Sample("crlf", "The script ./train.sh has Windows line ends",
           "bash: line 1: ./train.sh: /bin/bash^M: bad interpreter: No such file or directory\n", 126),
    Sample("crlf", "python3", "/usr/bin/env: \u2018python3\\r\u2019: No such file or directory\n", 127),
    Sample("crlf", "Windows line ends", "train.sh: line 2: $'\\r': command not found\n", 127),
    Sample("crlf", "Windows line ends", "train.sh: 2: \r: not found\n", 127),
    Sample("missing-interpreter", "The interpreter /opt/python of the script ./train.py",
           "muster: the interpreter of the script ./train.py is not there: /opt/python\n", 127),
    Sample("missing-interpreter", "The interpreter /opt/python of the script ./train.py",
           "bash: line 1: ./train.py: /opt/python: bad interpreter: No such file or directory\n", 126),
    Sample("exec-format", "./train", "bash: line 1: ./train: cannot execute binary file: Exec format error\n", 126),
    Sample("exec-format", "./train.sh", "exec ./train.sh: exec format error\n", 1),
    Sample("no-shebang", "./train.py", "./train.py: 1: import: not found\n", 127),
    Sample("command-not-found", "The command trian is not on the PATH of the node",
           "t: 9: exec: trian: not found\nmuster: the command trian is in no folder of the PATH /usr/bin:/bin\n", 127),
    Sample("missing-file", "./train.sh", "muster: there is no file ./train.sh to run in /srv/t/work\n", 127),
    Sample("too-large", "longer than Linux", "muster-task: 31: exec: python3: Argument list too long\n", 126),
    Sample("missing-rank", "RANK", _raised("ValueError: Error initializing torch.distributed using env:// rendezvous: "
           "environment variable RANK expected, but not set")),
    Sample("missing-rank", "MASTER_ADDR", _raised("KeyError: 'MASTER_ADDR'")),
    Sample("missing-rank", "PADDLE_TRAINER_ID", _raised("KeyError: 'PADDLE_TRAINER_ID'")),
    Sample("missing-local-rank", "LOCAL_RANK", _raised("KeyError: 'LOCAL_RANK'")),
    Sample("paddle-launch", "did not train together", _raised("RuntimeError: The global group is not initialized.")),
    Sample("mpi-slots", "slots", "There are not enough slots available in the system to satisfy the 8\nslots\n"),
    Sample("mpi-root", "root", "mpirun has detected an attempt to run as root.\n"),
    Sample("mpi-hosts", "other nodes", "ORTE was unable to reliably start one or more daemons.\n"),
    Sample("nccl-interface", "network interface", "node1:12:12 [0] NCCL WARN Bootstrap : no socket interface found\n"),
    Sample("rendezvous", "find each other", _raised(
        "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/2 clients joined.")),
    Sample("rendezvous", "find each other", _raised(
        "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cpu//0/1")),
    Sample("read-only", "read-only", _raised("OSError: [Errno 30] Read-only file system: '/data/x'")),
    Sample("bad-arguments", "unrecognized arguments: --lrr 0.1", "usage: train.py [-h] [--lr LR]\ntrain.py: error: "
           "unrecognized arguments: --lrr 0.1\n"),
    Sample("syntax", "invalid syntax",
           '  File "train.py", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'),
    Sample("not-a-number", "diverged", "step 40 loss 3.1\nLoss is nan, stopping training\n"),
    Sample("paddle-precondition", "Tensor holds no memory", _PADDLE.format(
        message="PreconditionNotMetError: Tensor holds no memory. Call Tensor::mutable_data firstly.")),
    Sample("paddle-argument", "must be equal", _raised(
        "ValueError: (InvalidArgument) The width of the first matrix must be equal to the height of the second.")),
    Sample("paddle-external", "CUBLAS error(7)", _PADDLE.format(message="ExternalError: CUBLAS error(7).")),
    Sample("python-bug", "NameError: name 'modle' is not defined", _raised(
        "NameError: name 'modle' is not defined")),
    Sample("python-exception", "ValueError: too few samples", _raised("ValueError: too few samples")),
)  # fmt: skip

INNOCENT = (
    "epoch 3 loss 0.12 accuracy 0.97\n",
    "CUDA memory: 3.1 GiB allocated, 20 GiB free\n",
    "NCCL version 2.18.6+cuda12.1\n",
    "Using gloo backend\n",
    "loss is now 0.3; nan values dropped from input\n",
    "listening on 10.0.0.1:40000, waiting for 2 connections\n",
    "CUDNN_STATUS_SUCCESS\n",
    "No module docs built\n",
    "saved 2.00 GiB to /data/model.pt\n",
    "timeout set to 600 s for all collectives\n",
    "warning: key not found: optimizer, starting fresh\n",
)
