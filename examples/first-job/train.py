"""Stands in for a training program: every worker prints a loss that falls from epoch to epoch."""

import argparse
import os
import platform
import time
from pathlib import Path

options = argparse.ArgumentParser()
options.add_argument("--epochs", type=int, default=3)
options.add_argument("--lr", type=float, default=0.1)
given = options.parse_args()

print(f"worker {os.environ['MUSTER_RANK']} of {os.environ['MUSTER_WORLD_SIZE']} on {platform.node()}", flush=True)
for epoch in range(given.epochs):
    time.sleep(0.5)
    print(f"epoch {epoch} loss {1 / (epoch + 1):.3f}", flush=True)

Path("model").mkdir(exist_ok=True)
Path("model/weights.txt").write_text(f"lr {given.lr}\n")
