"""A small program called `paddle`, because the real one of PaddlePaddle v1 does not exist any more. It takes the flags
of `pserver` and `train`, prints them, and saves a model."""

from pathlib import Path

PADDLE = """\
#!/usr/bin/env python3
import os, sys, threading
flags = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[2:])
print(sys.argv[1], "on port", "known" if int(flags["port"]) else "", *sorted(sys.argv[2:]), flush=True)
if sys.argv[1] == "pserver":
    threading.Event().wait()
exec(open(flags["config"]).read(), {"cluster_config": lambda **keys: None, "settings": lambda **keys: None})
import provider
print("provider", provider.NAME, "login", os.environ.get("FS_UGI"), flush=True)
os.makedirs(flags["save_dir"], exist_ok=True)
with open(os.path.join(flags["save_dir"], "model"), "w") as model:
    model.write("of trainer " + flags["trainer_id"])
"""


def put_paddle(folder: Path) -> Path:
    folder.mkdir(parents=True)
    program = folder / "paddle"
    program.write_text(PADDLE)
    program.chmod(0o755)
    return folder
