"""`make demo` on a machine on which a server runs already."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.parts.server import MusterServer

DEMO = Path(__file__).parents[2] / "scripts" / "demo.py"


def test_the_demo_has_a_server_of_its_own(muster_server: MusterServer, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    others = {"MUSTER_PORT": str(muster_server.port), "MUSTER_SERVER": muster_server.url, "MUSTER_TOKEN": "none"}
    done = subprocess.run(
        [sys.executable, str(DEMO)],
        env=kept | others | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    ports = {int(port) for port in re.findall(r"Muster is at http://127\.0\.0\.1:(\d+)", done.stdout)}
    assert len(ports) == 1
    assert ports != {muster_server.port}
    assert f"Everything is in {tmp_path / '.muster-demo'}" in done.stdout
    assert not [job for job in muster_server.json("get", "jobs")["items"] if job["name"].startswith("demo-")]
