"""Jobs are submitted by the form and by their file, cloned, and sent with a folder."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.parts.pretend_cluster.seeding import call, submit
from tests.portal.conftest import Lab, Open
from tests.portal.reading import PATIENCE_MS

PIECE_BYTES = 4 << 20


def editor(page: Page) -> Any:
    return page.get_by_role("textbox", name="Job file in YAML")


_PASTE = """
(element, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}
"""


def write(page: Page, text: str) -> None:
    """Pastes the text in place of what is in the editor."""
    editor(page).press("Control+a")
    editor(page).evaluate(_PASTE, text)


def submitted(page: Page) -> str:
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"#/jobs/\w+"), timeout=PATIENCE_MS)
    return page.url.rpartition("/")[2].partition("?")[0]


def test_a_job_is_submitted_by_the_form(open_page: Open, lab: Lab) -> None:
    window = open_page("ada", "/submit")
    page = window.page
    page.get_by_label("Name", exact=True).fill("by-form")
    page.get_by_label("Command").fill("python train.py")
    page.get_by_label("GPUs per task").fill("2")
    page.get_by_label("Cluster or virtual cluster").first.click()
    page.get_by_role("option", name="vision").click()
    expect(editor(page)).to_contain_text("name: by-form")
    expect(editor(page)).to_contain_text("gpu: 2")
    expect(page.get_by_text("The file is right.")).to_be_visible()
    job = call(lab.server, "GET", f"/jobs/{submitted(page)}", token=lab.token("ada"))
    assert (job["name"], job["vc"], job["resources"]["gpu"]) == ("by-form", "vision", 2)


def test_the_file_is_sent_as_it_was_written(open_page: Open) -> None:
    text = "# mine\nname: by-file   # why\ncluster: vision\nenv: {A: '1'}\ncommand: python x.py\n"
    window = open_page("ada", "/submit")
    page = window.page
    sent: list[Any] = []
    page.on("request", lambda request: sent.append(request) if request.method == "POST" else None)
    write(page, text)
    expect(page.get_by_label("Name", exact=True)).to_have_value("by-file")
    submitted(page)
    bodies = [request.post_data_json for request in sent if request.url.endswith("/jobs")]
    assert [body["source"] for body in bodies] == [text]


def test_problems_stand_at_their_lines(open_page: Open) -> None:
    window = open_page("ada", "/submit")
    page = window.page
    write(page, "name: wrong\ncommand: 'true'\npriority: highest\nreplicas: many\n")
    first = page.get_by_role("button", name="Line 3:")
    first.wait_for()
    page.get_by_role("button", name="Line 4:").wait_for()
    expect(page.locator(".cm-problem").first).to_have_text("priority: highest")
    assert window.barriers() == []
    write(page, "name: right\ncommand: 'true'\n")
    expect(first).to_have_count(0)
    expect(page.locator(".cm-problem")).to_have_count(0)


def test_problems_of_a_refused_submission_go_when_the_text_changes(open_page: Open) -> None:
    page = open_page("ada", "/submit").page
    write(page, "name: wrong\ncommand: 'true'\npriority: highest\n")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_role("button", name="Line 3:").wait_for()
    write(page, "name: right\ncommand: 'true'\n")
    expect(page.get_by_text("The file is right.")).to_be_visible()
    expect(page.get_by_role("button", name="Line 3:")).to_have_count(0)
    expect(page.locator(".cm-problem")).to_have_count(0)


def test_a_sweep_is_submitted_and_shown(open_page: Open) -> None:
    page = open_page("ada", "/submit").page
    write(
        page,
        "name: by-portal\ncluster: vision\ncommand: 'true'\nparams: {lr: 1}\nsweep: {grid: {lr: [1, 2, 3]}}\n",
    )
    expect(page.get_by_text("A sweep of 3 jobs (lr), of which the first is shown here.")).to_be_visible()
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"#/sweeps/\w+"), timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", level=1, name="by-portal")).to_be_visible()


def test_typing_over_a_selection_breaks_no_policy(open_page: Open) -> None:
    """The fixture fails on any violation: a browser would keep the colours of the old text in an inline style."""
    page = open_page("ada", "/submit").page
    write(page, "name: coloured  # a comment\nenv: {A: '1'}\ncommand: 'true'\n")
    editor(page).press("Control+a")
    page.keyboard.type("name: typed")
    expect(editor(page)).to_have_text("name: typed")
    editor(page).fill("name: filled")
    expect(editor(page)).to_have_text("name: filled")
    page.get_by_label("Name", exact=True).fill("by-form")
    expect(editor(page)).to_have_text("name: by-form")
    editor(page).press("Control+z")
    editor(page).press("Control+f")
    page.keyboard.type("name")


def test_a_dry_run_says_where_and_when_it_would_start(open_page: Open) -> None:
    page = open_page("ada", "/submit").page
    write(page, "name: small\ncluster: lab\ncommand: 'true'\nresources: {cpu: 1}\n")
    box = page.get_by_role("region", name="What would be started")
    expect(box).to_contain_text("It would start at once, on these nodes.", timeout=PATIENCE_MS)
    expect(box.locator("tbody")).to_contain_text("gpu")
    write(page, "name: nowhere\ncluster: lab\ncommand: 'true'\nresources: {cpu: 1}\nwhere: {nodes: [gpu40]}\n")
    expect(box).to_contain_text("if no other job ran", timeout=PATIENCE_MS)


def test_hidden_characters_are_shown_and_turn_no_text_around(open_page: Open, lab: Lab) -> None:
    """A right-to-left override could make a command look like another one."""
    hidden = "echo safe \u202e txt.exe"
    spec = {"name": "turned", "cluster": "vision", "command": hidden, "description": hidden, "labels": {"a": "b"}}
    found = submit(lab.server, lab.token("ada"), spec)
    for path in (f"/jobs/{found['id']}?tab=spec", f"/submit?from={found['id']}"):
        page = open_page("ada", path).page
        expect(page.get_by_text("‹U+202E›").first).to_be_visible(timeout=PATIENCE_MS)
        assert "\u202e" not in page.inner_text("main")


def test_a_job_is_cloned(open_page: Open, lab: Lab) -> None:
    spec = {"name": "to-clone", "cluster": "vision", "command": "python x.py", "params": {"lr": 0.5}}
    job = submit(lab.server, lab.token("ada"), spec)
    page = open_page("ada", f"/submit?from={job['id']}").page
    expect(page.get_by_label("Name", exact=True)).to_have_value("to-clone")
    expect(editor(page)).to_contain_text("lr: 0.5")


def test_a_job_begins_with_a_template(open_page: Open) -> None:
    page = open_page("ada", "/submit").page
    page.get_by_role("button", name="Templates").click()
    page.get_by_role("menuitem", name=re.compile("^torch-ddp")).click()
    expect(editor(page)).to_contain_text("torch")
    page.get_by_role("button", name="Use the files of the template").click()
    page.get_by_text(re.compile(r"\d files?, .* packed")).wait_for()


def test_keys_are_completed(open_page: Open) -> None:
    page = open_page("ada", "/submit").page
    write(page, "name: a\n")
    editor(page).press("Control+End")
    page.keyboard.type("prior")
    page.get_by_role("option", name=re.compile("^priority")).click()
    expect(editor(page)).to_contain_text("priority: ")


def test_an_interrupted_upload_goes_on(open_page: Open, lab: Lab, tmp_path: Path) -> None:
    """The connection breaks after the first piece; the second try sends only the rest."""
    folder = tmp_path / "code"
    folder.mkdir()
    noise = bytes((index * index * 7 + (index >> 8) * 31) % 251 for index in range(1 << 16))
    content = b"".join(bytes(byte ^ (block % 256) for byte in noise) for block in range(4))
    (folder / "train.py").write_bytes(b"print(1)\n")
    (folder / "weights.bin").write_bytes(content)
    page = open_page("ada", "/submit").page
    write(page, "name: with-code\ncluster: vision\npackage: ./code\ncommand: python train.py\n")
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_disabled()
    broken: list[str] = []

    def cut(route: Route) -> None:
        if route.request.method == "PUT":
            broken.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    page.route("**/api/v1/packages/**", cut)
    page.locator("input[type=file]").set_input_files(str(folder))
    resume = page.get_by_role("button", name="Resume")
    resume.wait_for(timeout=4 * PATIENCE_MS)
    assert broken
    page.unroute("**/api/v1/packages/**")
    resume.click()
    page.get_by_text("2 files").wait_for(timeout=2 * PATIENCE_MS)
    job = call(lab.server, "GET", f"/jobs/{submitted(page)}/spec", token=lab.token("ada"))
    assert len(job["spec"]["package"]) == len("0" * 64)
