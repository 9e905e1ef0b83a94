"""Files of a cluster: browsed, sent in pieces with resume, edited, moved and removed."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.parts.pretend_cluster.server import running_pretend_server
from tests.parts.server import MusterServer, polls
from tests.portal.reading import PATIENCE_MS, Reader, missing_parts, reader

PIECE_BYTES = 4 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[MusterServer]:
    """A server whose own machine shows a folder."""
    if why := missing_parts():
        pytest.skip(why)
    files = {"local": f"backend: local\nfolders: {{data: {folder}}}\n"}
    with running_pretend_server(tmp_path_factory.mktemp("desk") / "home", files=files) as server:
        yield server


@pytest.fixture
def window(browser: Browser, desk: MusterServer) -> Iterator[Reader]:
    with ExitStack() as stack:
        found = stack.enter_context(reader(browser, desk.url, desk.token))
        yield found
        assert found.violations() == []
        assert found.errors == []


def opened(window: Reader, path: str = "data") -> Page:
    return window.open(f"/files?cluster=local&path={path}")


def test_folders_lead_to_files(window: Reader, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "notes.txt").write_text("first\n")
    page = window.open("/files?cluster=local")
    page.get_by_role("link", name="data", exact=True).click()
    page.get_by_role("link", name="sub", exact=True).click()
    page.get_by_role("link", name="notes.txt").click()
    text = page.get_by_label("Content of notes.txt")
    expect(text).to_have_value("first\n")
    assert window.barriers() == []
    text.fill("second\n")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.").wait_for()
    assert (folder / "sub" / "notes.txt").read_text() == "second\n"


def test_what_others_changed_meanwhile_is_not_overwritten(window: Reader, folder: Path) -> None:
    (folder / "shared.txt").write_text("first\n")
    page = window.open("/files?cluster=local&path=data&open=shared.txt")
    page.get_by_label("Content of shared.txt").fill("mine\n")
    (folder / "shared.txt").write_text("of somebody else\n")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The file has changed since it was opened.").wait_for()
    assert (folder / "shared.txt").read_text() == "of somebody else\n"


def test_an_interrupted_upload_goes_on_from_where_it_stopped(window: Reader, folder: Path, tmp_path: Path) -> None:
    content = os.urandom(2 * PIECE_BYTES + 1000)
    (tmp_path / "big.bin").write_bytes(content)
    page = opened(window)
    offsets: list[str] = []
    is_cut = [True]

    def cut(route: Route) -> None:
        offset = route.request.url.partition("offset=")[2].partition("&")[0]
        offsets.append(offset)
        if is_cut[0] and offset != "0":
            route.abort()
        else:
            route.continue_()

    page.route("**/files/content?**", cut)
    page.locator("input[type=file]").set_input_files(str(tmp_path / "big.bin"))
    page.get_by_role("button", name="Resume").wait_for(timeout=6 * PATIENCE_MS)
    is_cut[0] = False
    offsets.clear()
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("link", name="big.bin").wait_for(timeout=4 * PATIENCE_MS)
    assert offsets[0] == str(PIECE_BYTES)
    assert (folder / "big.bin").read_bytes() == content


def test_files_are_made_moved_and_removed(window: Reader, folder: Path) -> None:
    (folder / "old.txt").write_text("x")
    page = opened(window)
    page.get_by_role("button", name="New folder").click()
    page.get_by_role("dialog").get_by_label("Name").fill("made")
    page.get_by_text("muster fs mkdir local:data/made").wait_for()
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="made").wait_for()
    page.get_by_label("Select old.txt").check()
    page.get_by_role("button", name="Move or rename").click()
    page.get_by_label("New path").fill("data/made/new.txt")
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("link", name="old.txt")).to_have_count(0)
    assert (folder / "made" / "new.txt").read_text() == "x"
    page.get_by_label("Select made").check()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("link", name="made")).to_have_count(0)
    assert not (folder / "made").exists()


def test_a_large_folder_is_scrolled_to_its_end(window: Reader, folder: Path) -> None:
    many = folder / "many"
    many.mkdir()
    for number in range(12_000):
        (many / f"part-{number:05d}").touch()
    page = opened(window, "data/many")
    page.get_by_role("link", name="part-00000").wait_for(timeout=4 * PATIENCE_MS)
    assert page.get_by_role("row").count() < 200
    last = page.get_by_role("link", name="part-11999")
    rows = page.get_by_test_id("rows")
    for _ in polls(120):
        rows.evaluate("element => element.scrollTo(0, element.scrollHeight)")
        if last.count():
            break
    last.wait_for()
