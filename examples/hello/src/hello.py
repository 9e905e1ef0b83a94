"""Print a greeting and the variables and files that Muster provides to a task."""

import os
import platform
from pathlib import Path

PREFIXES = ("MUSTER_", "CUDA_VISIBLE_DEVICES", "PADDLE_", "MASTER_", "RANK", "WORLD_SIZE", "TF_CONFIG", "JAX_")

print(f"{os.environ['GREETING']} from {os.environ['MUSTER_TASK_NAME']} on {platform.node()}")
for name, value in sorted(os.environ.items()):
    if name.startswith(PREFIXES):
        print(f"{name}={value}")
for name in ("trainer_id", "trainer_count"):
    print(f"{name}: {(Path(os.environ['MUSTER_TASK_DIR']) / name).read_text().strip()}")
