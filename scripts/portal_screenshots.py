"""Takes the pictures of the portal that README and the guides show: `make portal-screenshots`.

They show a real server with a pretended cluster of 40 nodes, so that there is something to see.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

from tests.parts.pretend_cluster.seeding import PASSWORD, call, seed
from tests.parts.pretend_cluster.server import running_pretend_server
from tests.parts.server import MusterServer
from tests.portal.reading import chromium, missing_parts, reader

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
ALIVE_AFTER_S = 45.0
"""Until then some jobs have ended, some have failed, and the curves have a shape."""
SETTLE_MS = 2_500
WIDTH = 1280
MOST_BYTES = 150_000


@dataclass(frozen=True)
class Picture:
    """A page as somebody sees it."""

    name: str
    path: str
    person: str = "root"
    language: str = "en"
    dark: bool = False
    height: int = 800


def pictures(job: str, own_job: str) -> list[Picture]:
    return [
        Picture("page", "/jobs"),
        Picture("job", f"/jobs/{job}?tab=logs", height=660),
        Picture("nodes", "/nodes/gpu02?cluster=lab"),
        Picture("portal-home", "/", "ada"),
        Picture("portal-cluster", "/cluster?by=load"),
        Picture("portal-schedule", "/schedule?since=10m&cluster=lab"),
        Picture("portal-submit", f"/submit?from={own_job}", "ada"),
        Picture("portal-virtual-clusters", "/virtual-clusters"),
        Picture("page-zh", "/jobs", language="zh", height=700),
        Picture("portal-submit-zh", f"/submit?from={own_job}", "ada", language="zh", height=740),
        Picture("portal-zh-dark", f"/jobs/{job}", language="zh", dark=True),
    ]


def main() -> int:
    if why := missing_parts():
        print(why, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="muster-pictures-") as folder:
        home = Path(folder) / "home"
        with running_pretend_server(home) as server, chromium() as browser:
            seed(server, jobs=80, seconds=900)
            time.sleep(ALIVE_AFTER_S)
            tokens = {"root": server.token, "ada": _token_of(server, "ada")}
            running = call(server, "GET", "/jobs?state=Running&limit=50")["items"]
            job = max(running, key=lambda each: each["tasks"])["id"]
            own = call(server, "GET", "/jobs?owner=ada&limit=1")["items"][0]["id"]
            for each in pictures(job, own):
                size = {"width": WIDTH, "height": each.height}
                token = tokens[each.person]
                with reader(browser, server.url, token, language=each.language, dark=each.dark, **size) as window:
                    _take(window.open(each.path), IMAGES / f"{each.name}.png")
    return 0


def _token_of(server: MusterServer, person: str) -> str:
    return str(call(server, "POST", "/login", {"user": person, "password": PASSWORD, "name": "pictures"})["token"])


def _take(page: Page, path: Path) -> None:
    page.get_by_role("heading", level=1).first.wait_for()
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=path)
    size = path.stat().st_size
    print(path.relative_to(IMAGES.parent.parent), f"{size:,} bytes", flush=True)
    if size > MOST_BYTES:
        print(f"{path.name} has more than {MOST_BYTES:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
