"""What short commands load: imports are nearly all of their time."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.cli.calling import with_job
from tests.unit.client.tiny_server import Answer, TinyServer, sse

pytestmark = pytest.mark.fast

_SCRIPT = """
import sys
from muster.cli.main import cli
try: cli(prog_name="muster")
except SystemExit as exit: assert not exit.code, exit.code
finally: print("\\nIMPORTED", *sys.modules)
"""
_NEVER = ("asyncio", "cryptography", "hashlib", "httpx", "pydantic", "rich", "tarfile", "yaml", "muster.api")
_NOT_FOR_JOBS = (
    "muster.client.cluster_views",
    "muster.client.environment_views",
    "muster.client.files",
    "muster.client.node_exec",
    "muster.client.output_views",
    "muster.client.packing",
    "muster.client.specs",
    "muster.client.template_views",
)
_NOT_WITHOUT_SUBMITTING = ("muster.client.job_files", "muster.client.job_sending", "muster.client.submitting")
_NOT_WITHOUT_PRINTING = ("muster.cli.dry_run", "muster.cli.job_following", "muster.cli.logs", "muster.cli.tables")


def _imported(server: TinyServer, words: list[str], more: Mapping[str, str] | None = None) -> set[str]:
    env = {**os.environ, "MUSTER_SERVER": server.url, **(more or {})}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *words], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("IMPORTED")[2].split())


def test_submitting_a_file_loads_nothing_to_print_or_follow_jobs(server: TinyServer, tmp_path: Path) -> None:
    server.on("POST", "/jobs", Answer(201, with_job(server)))
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps({"name": "mnist", "command": ["true"]}))
    loaded = _imported(server, ["submit", str(file)])
    assert "muster.client.job_sending" in loaded
    assert loaded & {*_NEVER, *_NOT_FOR_JOBS, *_NOT_WITHOUT_PRINTING} == set()


@pytest.mark.parametrize("words", [["get", "jobs"], ["logs", "mnist"]], ids=" ".join)
def test_looking_at_jobs_loads_nothing_to_submit_one(server: TinyServer, words: list[str]) -> None:
    job = with_job(server)
    server.on("GET", f"/jobs/{job['id']}/logs", Answer(pieces=[sse("end", {})]))
    loaded = _imported(server, words)
    assert "muster.client.client" in loaded
    assert loaded & {*_NEVER, *_NOT_FOR_JOBS, *_NOT_WITHOUT_SUBMITTING} == set()


def test_completing_a_job_loads_no_more_than_a_list_of_jobs(server: TinyServer) -> None:
    with_job(server)
    typed = {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": "muster kill m", "COMP_CWORD": "2"}
    loaded = _imported(server, [], typed)
    assert "muster.client.client" in loaded
    assert loaded & {*_NEVER, *_NOT_FOR_JOBS, *_NOT_WITHOUT_SUBMITTING} == set()


def test_completing_a_command_loads_no_client(server: TinyServer) -> None:
    loaded = _imported(server, [], {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": "muster su", "COMP_CWORD": "1"})
    assert not [name for name in loaded if name.startswith(("muster.client", "muster.cli.commands", "http"))]
    assert loaded & set(_NEVER) == set()


def test_a_command_that_ends_looks_for_no_garbage_in_what_it_has_loaded() -> None:
    left = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 10 * len(gc.get_objects())))"
    script = f"{left}\nfrom muster.cli.main import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "True"
