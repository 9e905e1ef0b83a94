"""What `get` and `describe` print, and what they ask for."""

import json
import shlex
from typing import Any

import pytest
import yaml

from muster.cli.tables.text_tables import display_width
from tests.unit.cli.calling import ID, muster, with_job
from tests.unit.client.tiny_server import Answer, TinyServer, a_job, a_task, problem

pytestmark = pytest.mark.fast

JOB_TITLES = ["NAME", "OWNER", "STATE", "MODE", "GPUS", "SUCC", "FAIL", "ACTIVE", "START", "END", "DURATION", "REASON"]


def test_jobs_are_a_table_with_the_promised_columns(server: TinyServer) -> None:
    with_job(server, reason="waits for 2 GPUs", state="Queued", startedAt=None)
    outcome = muster(server, "get", "jobs")
    assert outcome.out.splitlines()[0].split() == JOB_TITLES
    cells = ["mnist", "li", "Queued", "Collective", "-", "0", "0", "2", "-", "-", "-"]
    assert outcome.out.splitlines()[1].split()[:11] == cells
    assert outcome.out.endswith("waits for 2 GPUs\n")
    assert "\x1b" not in outcome.out


def test_jobs_may_be_listed_by_name(server: TinyServer) -> None:
    with_job(server)
    assert muster(server, "get", "jobs", "mnist", "-o", "name").out == "mnist\n"
    assert muster(server, "get", "job", "mnist", "mnist", "-o", "name").out == "mnist\nmnist\n"
    assert muster(server, "get", "jobs", "mnist", "--mine").code == 2


def test_wide_jobs_have_more_columns(server: TinyServer) -> None:
    with_job(server)
    titles = muster(server, "get", "jobs", "-o", "wide").out.splitlines()[0].split()
    assert {"ID", "OWNER", "CLUSTER", "PRIORITY", "ATTEMPT", "CREATED", "RESOURCES"} <= set(titles)


def test_jobs_as_documents_are_the_servers_own(server: TinyServer) -> None:
    job = with_job(server)
    assert muster(server, "get", "jobs", "-o", "json").document == {"items": [job]}
    assert yaml.safe_load(muster(server, "get", "jobs", "-o", "yaml").out) == {"items": [job]}
    assert muster(server, "get", "jobs", "-o", "name").out == "mnist\n"


def test_empty_list_is_still_a_document(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"items": [], "nextCursor": None}))
    assert muster(server, "get", "jobs", "-o", "json").document == {"items": []}


def test_job_filters_reach_the_server(server: TinyServer) -> None:
    with_job(server)
    words = "--mine --state Running,Queued --state Held --cluster lab -l a=b -l c=d --text t --since 7d --limit 3"
    muster(server, "get", "jobs", *words.split())
    assert server.asked[0].query == {
        "state": ["Running", "Queued", "Held"],
        "owner": ["me"],
        "cluster": ["lab"],
        "label": ["a=b", "c=d"],
        "text": ["t"],
        "since": ["7d"],
        "limit": ["3"],
        "members": ["none"],
    }


def test_full_page_says_how_to_see_more(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"items": [a_job(), a_job()], "nextCursor": "c"}))
    assert "Showing the 2 newest; use --limit N or --all for more" in muster(server, "get", "jobs", "--limit", "2").err


def test_all_jobs_are_read_to_the_last_page(server: TinyServer) -> None:
    first = Answer(200, {"items": [a_job(name="a")], "nextCursor": "c"})
    server.on("GET", "/jobs", first, Answer(200, {"items": [a_job(name="b")], "nextCursor": None}))
    assert muster(server, "get", "jobs", "--all", "-o", "name").out == "a\nb\n"


OTHER = {"id": "k8s:research:ctr", "name": "ctr", "origin": "kubernetes", "owner": "research"}


def test_jobs_that_were_not_made_with_muster_are_listed_below(server: TinyServer) -> None:
    own = Answer(200, {"items": [a_job()], "nextCursor": None})
    server.on("GET", "/jobs", own, Answer(200, {"items": [a_job(**OTHER)], "nextCursor": None}))
    lines = muster(server, "get", "jobs").out.splitlines()
    assert lines[2:4] == ["", "Not made with Muster:"]
    assert lines[5].split()[:2] == ["k8s:research:ctr", "kubernetes"]
    assert [one.query.get("origin") for one in server.asked] == [None, ["others"], None]


def test_a_document_has_jobs_of_one_origin(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"items": [a_job(**OTHER)], "nextCursor": None}))
    document = muster(server, "get", "jobs", "--others", "-o", "json").document
    assert [one["id"] for one in document["items"]] == ["k8s:research:ctr"]
    assert [one.query["origin"] for one in server.asked] == [["others"]]


def test_a_server_that_knows_no_origins_lists_nothing_twice(server: TinyServer) -> None:
    with_job(server)
    assert "Not made" not in muster(server, "get", "jobs").out


def test_a_job_that_was_not_made_with_muster_is_described_as_such(server: TinyServer) -> None:
    roles = [{"role": "worker", "replicas": 3, "active": 2, "succeeded": 1, "failed": 0}]
    server.on("GET", "/jobs/k8s%3Aresearch%3Actr", Answer(200, a_job(**OTHER, roles=roles)))
    shown = muster(server, "describe", "k8s:research:ctr").out
    assert "kubernetes; it was not made with Muster" in shown
    assert "worker x3: 2 active, 1 succeeded, 0 failed" in shown


def test_workers_are_listed_with_the_promised_columns(server: TinyServer) -> None:
    with_job(server)
    server.on("GET", f"/jobs/{ID}/tasks", Answer(200, {"items": [a_task(state="Failed", exitCode=3)]}))
    lines = muster(server, "get", "workers", "mnist").out.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "NODE", "START", "END", "EXIT"]
    assert lines[1].split()[:3] == ["mnist-worker-0", "Failed", "n1"]
    assert lines[1].split()[-1] == "3"
    assert muster(server, "get", "tasks", "mnist", "-o", "name").out == "mnist-worker-0\n"


def a_node(used: float = 0, **changes: Any) -> dict[str, Any]:
    return {
        "name": "gpu-01",
        "cluster": "local",
        "state": "Ready",
        "cpu": {"total": "8", "used": "2500m"},
        "memory": {"total": 2**34, "used": 2**30},
        "gpus": [
            {"index": 0, "model": "A100", "used": used, "job": "mnist"},
            {"index": 1, "model": "A100", "used": 0, "job": None},
        ],
        "tasks": 2,
        "note": "",
        "usage": None,
        **changes,
    }


def test_nodes_come_with_what_is_not_known_of_their_clusters(server: TinyServer) -> None:
    server.on("GET", "/nodes", Answer(200, {"items": []}))
    notes = ["its capacity is not known: the account may not list nodes"]
    server.on("GET", "/clusters", Answer(200, {"items": [{"name": "k8s", "notes": notes}]}))
    assert f"cluster k8s: {notes[0]}" in muster(server, "get", "nodes").err


@pytest.mark.parametrize(("used", "shown"), [(1, "1/2"), (0.5, "0.5/2")])
def test_nodes_show_what_is_given_of_them(server: TinyServer, used: float, shown: str) -> None:
    server.on("GET", "/nodes", Answer(200, {"items": [a_node(used)]}))
    server.on("GET", "/clusters", Answer(200, {"items": []}))
    line = muster(server, "get", "nodes").out.splitlines()[1]
    assert line.split() == ["gpu-01", "local", "Ready", "2.5/8", "1.0", "GiB/16.0", "GiB", shown, "2", "-"]


@pytest.mark.parametrize(
    ("used", "in_use", "line"),
    [(1, "1/2", "GPU 0: A100, mnist"), (0.25, "0.25/2", "GPU 0: A100, mnist (0.25 of it is allocated)")],
)
def test_a_gpu_that_is_shared_shows_how_much_of_it_is_allocated(
    server: TinyServer, used: float, in_use: str, line: str
) -> None:
    server.on("GET", "/usage", Answer(200, {"nodes": [a_node(used)], "tasks": []}))
    assert in_use in muster(server, "top", "--once").out.split()
    server.on("GET", "/nodes/gpu-01", Answer(200, a_node(used)))
    assert line in muster(server, "describe", "node/gpu-01").out.splitlines()


def test_other_devices_are_counted_and_described_with_why_one_is_out_of_service(server: TinyServer) -> None:
    good = {"resource": "xilinx.com/fpga", "index": 0, "paths": ["/dev/xdma0"], "job": "mnist", "outOfService": None}
    bad = {**good, "index": 1, "paths": ["/dev/xdma1"], "job": None, "outOfService": "/dev/xdma1 does not exist"}
    server.on("GET", "/nodes", Answer(200, {"items": [a_node(devices=[good, bad])]}))
    assert "xilinx.com/fpga:1/2 (1 out of service)" in muster(server, "get", "nodes", "-o", "wide").out
    server.on("GET", "/nodes/gpu-01", Answer(200, a_node(devices=[good, bad])))
    lines = muster(server, "describe", "node/gpu-01").out.splitlines()
    assert "xilinx.com/fpga 0 (/dev/xdma0): mnist" in lines
    assert "xilinx.com/fpga 1 (/dev/xdma1): free; out of service: /dev/xdma1 does not exist" in lines


def test_describe_quotes_a_command_so_that_it_can_be_pasted(server: TinyServer) -> None:
    with_job(server)
    words = ["python3", "-c", 'print("a b")', "it's"]
    roles = {
        "worker": {"replicas": 2, "command": words},
        "ps": {"replicas": 1, "command": ["/bin/sh", "-c", "ls | wc"]},
    }
    server.on("GET", f"/jobs/{ID}/events", Answer(200, {"items": [], "nextCursor": None}))
    server.on("GET", f"/jobs/{ID}/spec", Answer(200, {"spec": {"name": "mnist", "roles": roles}}))
    lines = muster(server, "describe", "mnist").out.splitlines()
    shown = next(line for line in lines if line.startswith("  worker x2: ")).removeprefix("  worker x2: ")
    assert shlex.split(shown) == words
    assert "  ps x1: /bin/sh -c 'ls | wc'" in lines


def test_describe_shows_what_may_be_read(server: TinyServer) -> None:
    with_job(server)
    event = {"seq": 1, "at": "2026-01-02T03:04:05Z", "kind": "job.queued", "jobId": ID, "actor": "li", "data": {}}
    server.on("GET", f"/jobs/{ID}/events", Answer(200, {"items": [event], "nextCursor": None}))
    server.on("GET", f"/jobs/{ID}/spec", problem(403, "forbidden", "not yours"))
    outcome = muster(server, "describe", "mnist")
    assert outcome.code == 0
    assert "mnist-worker-1" in outcome.out
    assert "job.queued" in outcome.out


def test_chinese_names_line_up(server: TinyServer) -> None:
    server.on("GET", "/clusters", Answer(200, {"items": [{"name": "实验室"}, {"name": "lab"}], "nextCursor": None}))
    lines = muster(server, "get", "clusters", "-o", "wide").out.splitlines()
    assert len({display_width(line[: line.index("-")]) for line in lines[1:]}) == 1


def test_virtual_clusters_are_listed_where_no_others_are_offered(server: TinyServer) -> None:
    offered = {"name": "vfs", "cluster": "lab", **{key: {} for key in ("guaranteed", "used", "borrowed", "lent")}}
    server.on("GET", "/clusters", Answer(200, {"items": [], "nextCursor": None}))
    server.on("GET", "/virtual-clusters", Answer(200, {"items": [offered], "problems": []}))
    outcome = muster(server, "get", "clusters")
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["NAME", "vfs"]
    assert "virtual clusters only" in outcome.err
    assert muster(server, "get", "clusters", "-o", "name").out == "vfs\n"
    assert json.loads(muster(server, "get", "clusters", "-o", "json").out) == {"items": []}
