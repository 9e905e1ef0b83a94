"""NVIDIA's library is called with the arguments that it documents: against a tiny one of the same functions."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc")
LIBRARY = r"""
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned int gpu, memory; } utilization;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) { *device = (void *)0x17; return 0; }
int nvmlDeviceGetUUID(void *device, char *text, unsigned int length) { strcpy(text, "GPU-1"); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned int length) { strcpy(text, "NVIDIA A100-SXM4"); return 0; }
int nvmlDeviceGetMemoryInfo(void *device, memory *m) { m->total = 80ULL << 30; m->used = 5ULL << 30; return 0; }
int nvmlDeviceGetUtilizationRates(void *device, utilization *u) { u->gpu = 87; u->memory = 1; return 0; }
int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts) { *milliwatts = 210500; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *c) { *c = 65; return 0; }
int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *n) { *n = 0; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count, void *found) { *count = 0; return 0; }
#ifdef ENERGY
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
  if (device != (void *)0x17) return 2;
  *millijoules = 5000000001500ULL; /* more than 32 bits */
  return ENERGY;
}
#endif
"""
ASK = """
import dataclasses, json
from muster.agent.gpus.nvml import Nvml
print(json.dumps([dataclasses.asdict(load) for load in Nvml().loads()]))
"""


def loads(folder: Path, *flags: str) -> Any:
    if COMPILER is None:
        pytest.skip("there is no C compiler here")
    (folder / "nvml.c").write_text(LIBRARY)
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([COMPILER, "-shared", "-fPIC", *flags, "-o", str(library), str(folder / "nvml.c")], check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", ASK], env=env, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_a_card_says_its_load_power_and_energy(tmp_path: Path) -> None:
    (load,) = loads(tmp_path, "-DENERGY=0")
    assert (load["load"], load["memory_used_bytes"], load["power_w"]) == (87.0, 5 << 30, 210.5)
    assert load["energy_j"] == 5000000001.5


@pytest.mark.parametrize("flags", [("-DENERGY=3",), ()], ids=["an old card", "an old driver"])
def test_without_a_counter_the_energy_is_unknown(tmp_path: Path, flags: tuple[str, ...]) -> None:
    (load,) = loads(tmp_path, *flags)
    assert (load["energy_j"], load["power_w"]) == (None, 210.5)
