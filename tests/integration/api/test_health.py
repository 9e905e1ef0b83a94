"""Health, metrics and the page's files: open on this machine, and saying nothing about anybody."""

import re
import stat
from pathlib import Path

import httpx
import pytest

from tests.integration.api.people import People, unique
from tests.parts.server import MusterServer, running_server


def get(server: MusterServer, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{server.url}{path}", headers=headers, verify=False)


def test_a_server_that_answers_is_healthy_and_ready(muster_server: MusterServer) -> None:
    assert get(muster_server, "/healthz").text == "ok\n"
    ready = get(muster_server, "/readyz")
    assert (ready.status_code, ready.json()["ready"], ready.json()["readyNodes"]["local"]) == (200, True, 1)


def test_a_server_whose_agent_cannot_start_is_healthy_but_not_ready(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "node").mkdir(parents=True)
    (home / "node" / "tasks").write_text("a file where the agent wants a folder")
    with running_server(home) as server:
        assert get(server, "/healthz").status_code == 200
        ready = get(server, "/readyz")
        assert (ready.status_code, ready.json()) == (503, {"ready": False, "readyNodes": {"local": 0}})


def test_a_home_that_cannot_be_used_is_told_in_words(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "node").write_text("a file where a folder should be")
    with pytest.raises(AssertionError, match="cannot use"), running_server(home):
        pass


def test_metrics_count_jobs_and_do_not_name_those_that_wait(people: People) -> None:
    job = people.owner.submit({"name": unique("metered"), "command": "true", "hold": True})
    _, text = people.server.call("GET", "/metrics")
    assert 'muster_jobs{state="Held"}' in text
    assert 'muster_http_requests_total{method="POST",status="201"}' in text
    assert 'muster_nodes{cluster="local",state="Ready"} 1.0' in text
    assert job["name"] not in text
    assert f'muster_user_jobs{{cluster="local",state="Held",user="{people.owner.name}"}}' in text


@pytest.mark.parametrize(
    ("address", "page"), [("/jobs/1m7f88hhkeyjxngn", "1m7f88hhkeyjxngn"), ("/jobs/a%3Fb%23c", "a%3Fb%23c")]
)
def test_a_tracking_url_leads_to_the_page_of_the_job_whether_or_not_there_is_one(
    muster_server: MusterServer, address: str, page: str
) -> None:
    answer = get(muster_server, address)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/#/jobs/{page}")


def test_the_page_may_not_be_framed_nor_run_what_is_not_its_own(muster_server: MusterServer) -> None:
    index = get(muster_server, "/")
    scripts = re.findall(r'(?:src|href)="(/portal/[^"]+)"', index.text)
    assert any(path.endswith(".js") for path in scripts)
    for path in ("/", *scripts):
        answer = get(muster_server, path)
        assert answer.status_code == 200
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_and_its_files_answer_head_as_get_without_the_content(muster_server: MusterServer) -> None:
    whole = get(muster_server, "/")
    head = httpx.head(f"{muster_server.url}/")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_no_answer_of_the_api_is_taken_for_something_else(muster_server: MusterServer) -> None:
    assert get(muster_server, "/api/v1/whoami").headers["x-content-type-options"] == "nosniff"


def test_the_page_has_its_own_files_and_no_others(muster_server: MusterServer) -> None:
    for name in ("nothing.js", "..%2F__init__.py", "%2Fetc%2Fpasswd", "assets/../../app.py", ".key", "icon.svg.gz"):
        assert get(muster_server, f"/portal/{name}").status_code == 404


def test_the_page_is_sent_compressed_and_its_parts_may_be_kept_for_ever(muster_server: MusterServer) -> None:
    index = get(muster_server, "/")
    assert index.headers["cache-control"] == "no-cache"
    script = re.findall(r'src="(/portal/assets/[^"]+[.]js)"', index.text)[0]
    answer = get(muster_server, script)
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]


def test_answers_of_the_api_are_not_kept_by_caches(people: People) -> None:
    for path in ("/jobs", "/tokens", "/whoami"):
        assert people.owner.get(path).headers["cache-control"] == "no-store"


def test_what_the_first_start_leaves_is_for_its_user_alone(muster_server: MusterServer) -> None:
    assert stat.S_IMODE((muster_server.home / "context.json").stat().st_mode) == 0o600
    for name in ("logs", "packages", "node"):
        assert stat.S_IMODE((muster_server.home / name).stat().st_mode) == 0o700
    database = muster_server.home / "muster.db"
    assert (
        stat.S_IMODE(database.stat().st_mode) & 0o077 == 0 or stat.S_IMODE(muster_server.home.stat().st_mode) == 0o700
    )


def test_a_second_server_on_one_home_is_refused(muster_server: MusterServer) -> None:
    second = MusterServer(muster_server.home)
    with pytest.raises(AssertionError, match="another server is already using"):
        second.start()
    second.stop()
