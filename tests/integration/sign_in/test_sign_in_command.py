"""`muster login --sso` against a real identity provider, with a person who uses a browser somewhere."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from muster.client.client import Client
from tests.parts.form_browser import FormBrowser
from tests.parts.sign_in_site import Site

MUSTER = Path(sys.executable).parent / "muster"


@contextmanager
def logging_in(home: Path, *arguments: str, **env: str) -> Iterator["subprocess.Popen[str]"]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "SSH_"))}
    process = subprocess.Popen(
        [str(MUSTER), "login", *arguments],
        env=kept | {"MUSTER_HOME": str(home), "NO_COLOR": "1", **env},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def said(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """The code and the address that the command tells the person."""
    assert process.stderr is not None
    words, address = process.stderr.readline(), process.stderr.readline().strip()
    found = re.search(r"code (\S{4,})[: ]", words)
    assert found is not None, words + address + process.stderr.read()
    return found[1].rstrip(":"), address


def token_in(home: Path) -> str:
    contexts: Any = json.loads((home / "context.json").read_text())
    return str(contexts["contexts"][contexts["current"]]["token"])


def is_on_loopback(site: Site) -> Callable[[str], bool]:
    return lambda url: not url.startswith((site.server.url, site.provider.issuer))


def test_a_browser_of_the_same_machine_brings_the_code(site: Site, browser: FormBrowser, tmp_path: Path) -> None:
    amy = site.person()
    with logging_in(tmp_path, site.server.url, "--sso", BROWSER="true") as process:
        code, address = said(process)
        page = browser.log_in(address, amy)
        assert code in page.text
        assert amy in page.text
        assert "form-action 'self' http://127.0.0.1:" in page.headers["content-security-policy"]
        page = browser.submit(until=is_on_loopback(site))
        target = page.headers["location"]
        assert httpx.get(target.replace("state=", "state=x")).status_code == 400
        assert "logged in" in httpx.get(target).text
        assert process.wait(120) == 0
    client = Client(site.server.url, token_in(tmp_path))
    assert client.whoami()["user"] == amy
    assert client.tokens()[0].expires_at is not None


def test_a_code_is_confirmed_on_another_machine(site: Site, browser: FormBrowser, tmp_path: Path) -> None:
    amy = site.person()
    with logging_in(tmp_path, site.server.url, "--no-browser") as process:
        code, address = said(process)
        assert code in address
        page = browser.log_in(address, amy)
        assert "Success" in page.text, page.text
        assert process.wait(120) == 0
    assert Client(site.server.url, token_in(tmp_path)).whoami()["user"] == amy


def test_a_code_is_pasted_if_the_provider_has_no_device_codes(
    plain_site: Site, browser: FormBrowser, tmp_path: Path
) -> None:
    amy = plain_site.person()
    with logging_in(tmp_path, plain_site.server.url, "--no-browser") as process:
        code, address = said(process)
        page = browser.log_in(address, amy)
        assert code in page.text
        page = browser.submit()
        shown = re.search(r'<code id="code">([^<]+)</code>', page.text)
        assert shown is not None, page.text
        assert process.stdin is not None
        process.stdin.write(f"{shown[1]}\n")
        process.stdin.flush()
        assert process.wait(120) == 0
    assert Client(plain_site.server.url, token_in(tmp_path)).whoami()["user"] == amy
