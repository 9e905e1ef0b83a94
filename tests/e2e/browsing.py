"""A headless Chromium, driven over its DevTools pipe: no driver, no port, nothing to install beside the browser."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MISSING = "Chromium is not installed: apt-get install chromium"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--lang=en-US",
    "--window-size=1280,900",
    "--remote-debugging-pipe",
)

_KEYS = {"Enter": 13, "Tab": 9}


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Tab:
    """One page. What it is asked is answered in order; what it reports meanwhile is kept."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to_browser, self._from_browser = to_browser, from_browser
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.errors: list[str] = []

    def open(self, url: str, before: str = "") -> None:
        """`before` is a script that runs before those of the page."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.ask("Page.navigate", url=url)

    def ask(self, method: str, **params: Any) -> Any:
        number = self._send(method, params)
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _send(self, method: str, params: Any) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        return self._number

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script: str, timeout_s: float = 90.0) -> Any:
        """The value of the expression once it is true."""
        deadline = time.monotonic() + timeout_s
        while True:
            if value := self.run(script):
                return value
            assert time.monotonic() < deadline, f"never true: {script}\n{self.run('document.body?.innerText')}"
            time.sleep(0.05)

    def type(self, selector: str, text: str) -> None:
        self.run(f"document.querySelector({selector!r}).focus()")
        self.ask("Input.insertText", text=text)

    def press(self, key: str, text: str = "") -> None:
        """A key, on whatever has the focus."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=_KEYS[key], **more)

    def log_in(self, user: str, password: str) -> None:
        """As somebody who has just come to the page; until it lets them in."""
        self.wait_for("document.querySelector('#login')?.hidden === false")
        self.type("#login [name=user]", user)
        self.type("#login [name=password]", password)
        self.click("#login button")
        self.wait_for("document.querySelector('#login').hidden")

    def click(self, selector: str) -> None:
        """A click of the mouse where the thing is, as a person would."""
        box = self.wait_for(
            f"(() => {{ const e = document.querySelector({selector!r}); if (!e || e.disabled) return null;"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return r.width ? [r.x + r.width / 2, r.y + r.height / 2] : null; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def _note(self, event: Any) -> None:
        """Dialogs are accepted; what went wrong in the page is remembered."""
        params = event.get("params", {})
        match event.get("method"):
            case "Page.javascriptDialogOpening":
                self._send("Page.handleJavaScriptDialog", {"accept": True})
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"])[:1000])
            case "Log.entryAdded" if params["entry"]["source"] == "security":
                self.errors.append(params["entry"]["text"])

    def _read(self, timeout_s: float = 120.0) -> Any:
        while b"\0" not in self._buffer:
            assert select.select([self._from_browser], [], [], timeout_s)[0], "the browser does not answer"
            data = os.read(self._from_browser, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def browser_tab(url: str, before: str = "") -> Iterator[Tab]:
    program = chromium()
    assert program is not None, MISSING
    command_in, command_out = os.pipe()
    answer_in, answer_out = os.pipe()
    with tempfile.TemporaryDirectory(prefix="muster-browser-", ignore_cleanup_errors=True) as profile:
        # The browser speaks on its descriptors 3 and 4; the shell puts ours there (plain sh knows numbers to 9 only).
        pipes = f'exec "$@" 3<&{command_in} 4>&{answer_out}'
        process = subprocess.Popen(
            ["bash", "-c", pipes, "bash", program, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(command_in, answer_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(command_in)
        os.close(answer_out)
        try:
            tab = Tab(command_out, answer_in)
            tab.open(url, before)
            yield tab
        finally:
            _end(process, command_out)
            os.close(command_out)
            os.close(answer_in)


def _end(process: subprocess.Popen[bytes], to_browser: int) -> None:
    """Asked first, so that it ends and reaps its own helpers; then made to."""
    try:
        os.write(to_browser, b'{"id": 0, "method": "Browser.close"}\0')
        process.wait(10)
    except (BrokenPipeError, subprocess.TimeoutExpired):
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)
