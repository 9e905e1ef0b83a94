"""Writes the folder of a master/slaver task manager, as its document describes it."""

import json
from pathlib import Path
from typing import Any

PASSWORD = "the common password"
SLAVER = {
    "name": "Slaver1",
    "ip": "192.168.36.130",
    "user_name": "aaaaa",
    "gpu_count": 3,
    "gpu_info": ["RTX3090", "RTX3090", "RTX1080ti"],
}


def conf(root: Path | str, **changes: Any) -> dict[str, Any]:
    return {
        "visible_folders": ["data", "data_ssd", "envs"],
        "root": f"{root}/",
        "psw_file": "./psw",
        "slaver_file": "./gpu_slaver_info.json",
        "train_log_path": "data/task_logs/",
        "server_log_path": f"{root}/master/server_log.log",
        "socket_info": {
            "monitor_port": 63004,
            "data_port": 63005,
            "train_state_port": 63006,
            "buffer": 1048576,
            "listen": 100,
        },
        **changes,
    }


def task(task_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "envs": "torch",
        "path": "data/project",
        "exec": "python train.py --lr 0.1",
        "need_gpus": "1",
        "slaver": "<默认>",
        "prev": "(无)",
        "is_urgent": 0,
        "is_reuse_gpu": 0,
        "state": "wait",
        "gpu_num": [],
        **changes,
    }


def write(
    folder: Path,
    *,
    root: Path | str = "/home/lab",
    nodes: list[dict[str, Any]] | None = None,
    waiting: list[dict[str, Any]] | None = None,
    running: list[dict[str, Any]] | None = None,
    ended: list[dict[str, Any]] | None = None,
    **settings: Any,
) -> Path:
    (folder / "task_info").mkdir(parents=True)
    (folder / "psw").write_text(f"{PASSWORD}\n")
    (folder / "psw").chmod(0o600)
    files = {
        "conf.json": conf(root, **settings),
        "gpu_slaver_info.json": [SLAVER] if nodes is None else nodes,
        "task_info/wait_task.json": waiting or [],
        "task_info/exec_task.json": running or [],
        "task_info/hist_task.json": ended or [],
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder
