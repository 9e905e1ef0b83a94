"""`muster notebook` and `muster tensorboard` with the real Jupyter and TensorBoard, seen by a real browser."""

import contextlib
import json
import os
import re
import secrets
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browsing import LOGGED_IN, MISSING, browser_tab, chromium
from tests.parts.server import MusterServer, polls, running_server

_VENV = Path(__file__).parents[2] / ".venv-interactive"
_NOT_INSTALLED = "Jupyter is not installed: scripts/install-interactive.sh"
_CELL = "import os\nprint('the answer is', 6 * 7, os.environ['MUSTER_JOB_NAME'])"
_KERNEL_IS_READY = (
    "fetch('/api/sessions').then(a => a.json()).then(all => all.length > 0 && all[0].kernel.execution_state === 'idle')"
)
pytestmark = [
    pytest.mark.interactive,
    pytest.mark.skipif(chromium() is None, reason=MISSING),
    pytest.mark.skipif(not (_VENV / "bin" / "jupyter-lab").exists(), reason=_NOT_INSTALLED),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("notebook") / "home") as made:
        yield made


def notebook(server: MusterServer, *words: str) -> str:
    """The link that it prints."""
    done = server.run("notebook", "--venv", str(_VENV), *words, check=True, timeout_s=300.0)
    return done.stdout.strip()


def test_a_cell_runs_in_the_browser_and_nobody_else_is_let_in(server: MusterServer, tmp_path: Path) -> None:
    name = f"cells-{secrets.token_hex(3)}"
    folder = tmp_path / "notebooks"
    folder.mkdir()
    cell: dict[str, Any] = {
        "cell_type": "code",
        "source": _CELL,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "id": "one",
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    written = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "cell.ipynb").write_text(json.dumps(written))
    link = notebook(server, "-n", name, "--idle", "0", str(folder))
    port = int(re.findall(r"//p(\d+)-", link)[0])

    with browser_tab(link.partition("&")[0] + "&%2Flab%2Ftree%2Fcell.ipynb") as tab:
        tab.wait_for("location.pathname.startsWith('/lab')", 180)
        tab.wait_for("document.querySelector('.jp-CodeCell .cm-content')?.textContent.includes('the answer')", 180)
        tab.wait_for(_KERNEL_IS_READY, 180)
        tab.run("document.querySelectorAll('.jp-Dialog .jp-mod-accept').forEach(one => one.click())")  # its own news
        tab.click(".jp-CodeCell .cm-content")
        tab.page.keyboard.press("Shift+Enter")
        tab.wait_for(
            f"document.querySelector('.jp-OutputArea-output')?.textContent.includes('the answer is 42 {name}')", 180
        )
        assert "muster" not in tab.run("document.cookie")
        if place := os.environ.get("MUSTER_SCREENSHOTS"):
            tab.screenshot(Path(place) / "notebook.png")

    again = notebook(server, "-n", name)
    assert again.partition("#")[0] == link.partition("#")[0]
    assert again != link
    assert server.run("get", "jobs", "-o", "json").stdout.count(f'"{name}"') == 1

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/contents", timeout=60)
    assert refused.value.code == 403, "who is on the same node is not let in"
    secret = next(server.home.rglob("notebook-auth")).read_text().partition(" ")[2]
    assert next(server.home.rglob("notebook-auth")).stat().st_mode & 0o077 == 0
    arguments = b"".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    assert secret.encode() not in arguments
    for words in (("describe", name), ("logs", name), ("get", "jobs", "-o", "json")):
        assert secret not in server.run(*words).stdout, words
    server.run("kill", name, check=True)


def test_a_notebook_that_nobody_uses_ends_as_succeeded(server: MusterServer) -> None:
    name = f"idle-{secrets.token_hex(3)}"
    notebook(server, "-n", name, "--idle", "5s")
    assert server.wait(name, timeout_s=180)["state"] == "Succeeded"


def test_an_environment_without_jupyter_says_what_to_do(server: MusterServer) -> None:
    done = server.run("notebook", "-n", f"none-{secrets.token_hex(3)}", timeout_s=300.0)
    assert done.returncode == 1
    assert "Jupyter is not installed in the environment of this job" in done.stderr
    assert "pip install jupyterlab" in done.stderr


def test_tensorboard_runs_in_the_task_and_is_seen_in_the_browser(server: MusterServer) -> None:
    name = f"board-{secrets.token_hex(3)}"
    server.submit({"name": name, "command": "mkdir runs; sleep 1000", "runtime": {"venv": str(_VENV)}})
    server.wait_for_state(name, "Running")
    process = server.popen("tensorboard", name, "--logdir", "runs")
    try:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link.startswith("http://p"), process.stderr.read() if process.stderr else ""
        with browser_tab(link) as tab:
            tab.wait_for("location.pathname === '/' && document.title === 'TensorBoard'", 180)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    server.run("kill", name, check=True)


def test_a_link_logs_the_browser_in_once(server: MusterServer) -> None:
    link = server.run("open", check=True).stdout.strip()
    with browser_tab(link) as tab:
        tab.wait_for(LOGGED_IN)
        assert "login=" not in tab.run("location.href")
    with browser_tab(link) as tab:
        tab.wait_for("document.querySelector('[role=alert]')?.textContent.includes('used already')")


def test_an_address_to_keep_opens_the_page_after_a_login(server: MusterServer, tmp_path: Path) -> None:
    name = f"site-{secrets.token_hex(3)}"
    (tmp_path / "index.html").write_text("<title>mine</title><script>document.cookie = 'muster_session=evil'</script>")
    program = (
        "import http.server, os, functools;"
        f"h = functools.partial(http.server.SimpleHTTPRequestHandler, directory={str(tmp_path)!r});"
        "http.server.ThreadingHTTPServer(('127.0.0.1', int(os.environ['MUSTER_PORT_0'])), h).serve_forever()"
    )
    server.submit({"name": name, "command": ["python3", "-c", program], "ports": 1})
    server.wait_for_state(name, "Running")
    port = server.json("get", "workers", name)["items"][0]["ports"][0]
    for _ in polls(60):
        with (
            contextlib.suppress(urllib.error.URLError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60),
        ):
            break
    with browser_tab(server.run("open", check=True).stdout.strip()) as tab:
        tab.wait_for(LOGGED_IN)
        tab.go(f"{server.url}/jobs/{name}/proxy/{port}/index.html")
        tab.wait_for("document.title === 'mine'")
        assert tab.run("location.host").startswith(f"p{port}-")
        stolen = f"fetch('{server.url}/api/v1/whoami', {{credentials: 'include'}}).then(a => a.text(), e => 'blocked')"
        assert tab.run(stolen) == "blocked"
        tab.errors.clear()
        tab.go(server.url)
        tab.wait_for(LOGGED_IN)
    server.run("kill", name, check=True)
