"""Stand-ins for what tells the versions of NVIDIA's software: `nvidia-smi`, `nvcc`, and the header of cuDNN."""

from pathlib import Path

_SMI = """#!/bin/sh
[ "$*" = "--query-gpu=driver_version --format=csv,noheader" ] || exit 2
echo 535.104.05
echo 535.104.05
"""
_NVCC = """#!/bin/sh
[ "$*" = --version ] || exit 2
cat <<'END'
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2023 NVIDIA Corporation
Built on Tue_Aug_15_22:02:13_PDT_2023
Cuda compilation tools, release 12.2, V12.2.140
Build cuda_12.2.r12.2/compiler.33191640_0
END
"""
_CUDNN = """#ifndef CUDNN_VERSION_H_
#define CUDNN_VERSION_H_

#define CUDNN_MAJOR 8
#define CUDNN_MINOR 9
#define CUDNN_PATCHLEVEL 7

#define CUDNN_VERSION (CUDNN_MAJOR * 1000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)

#endif
"""


def pretend_gpu_software(programs: Path, home: Path) -> None:
    """`nvidia-smi` in the folder `programs`; CUDA and cuDNN below `home`. Driver 535.104.05, CUDA 12.2, cuDNN 8.9.7."""
    for path, content in (
        (programs / "nvidia-smi", _SMI),
        (home / "bin" / "nvcc", _NVCC),
        (home / "include" / "cudnn_version.h", _CUDNN),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)
