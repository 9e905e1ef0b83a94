"""Devices other than GPUs on the server's own machine: named in its file, checked, allocated, and waited for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls, running_server

FPGA, DSP = "test.example/fpga", "test.example/dsp"
FIRST, SECOND, THIRD = "/dev/full", "/dev/tty", "/dev/zero"
"""Devices that every machine has stand in for others. Without isolation, nothing is closed to a task."""
PRINTS = "echo has $MUSTER_DEVICES_TEST_EXAMPLE_FPGA; exec sleep 600"


def write(server_home: Path, devices: str) -> None:
    file = server_home / "clusters.d" / "local.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"backend: local\ndevices: {devices}\n")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MusterServer]:
    write(tmp_path / "home", f"{{{FPGA}: [{FIRST}, [{SECOND}, {THIRD}], /dev/no-such-fpga]}}")
    with running_server(tmp_path / "home") as found:
        await_devices(found, "", "", "/dev/no-such-fpga does not exist")
        yield found


def devices(server: MusterServer) -> list[dict[str, Any]]:
    (node,) = server.json("get", "nodes")["items"]
    return list(node["devices"])


def await_devices(server: MusterServer, *reasons: str) -> None:
    """Wait until the devices of the node are in service, or are not for these reasons."""
    found: list[str] = []
    for _ in polls(60):
        found = [device["outOfService"] or "" for device in devices(server)]
        if found == list(reasons):
            return
    raise AssertionError(f"the devices are {found}, not {list(reasons)}")


def a_spec(name: str, count: int = 1, resource: str = FPGA) -> dict[str, Any]:
    return {"name": name, "command": PRINTS, "resources": {"cpu": 0, "devices": {resource: count}}}


def has(server: MusterServer, job: str) -> str:
    """The devices that a running job has, as it says."""
    server.wait_for_state(job, "Running")
    for _ in polls(60):
        log = server.run("logs", job, check=True).stdout
        if "has " in log:
            return str(log.partition("has ")[2].strip())
    raise AssertionError(f"{job} said nothing")


def test_tasks_get_devices_of_their_own_and_wait_for_them(server: MusterServer) -> None:
    first, second = server.submit(a_spec("first"))["id"], server.submit(a_spec("second"))["id"]
    assert {has(server, first), has(server, second)} == {FIRST, f"{SECOND},{THIRD}"}
    third = server.submit(a_spec("third"))["id"]
    told = server.run("explain", third, check=True).stdout
    assert f"needs 1 {FPGA}; 0 free now; 1 more is out of service" in told

    assert {device["job"] for device in devices(server)} == {"first", "second", None}
    (task,) = server.json("get", "workers", first)["items"]
    assert [device["paths"] for device in task["extendedDevices"]] == [[FIRST]]
    server.run("kill", first, check=True)
    assert has(server, third) == FIRST


def test_devices_stay_allocated_when_the_server_is_killed_and_their_order_changes(server: MusterServer) -> None:
    first = server.submit(a_spec("first"))["id"]
    assert has(server, first) == FIRST
    server.kill()
    write(server.home, f"{{{FPGA}: [[{SECOND}, {THIRD}], {FIRST}]}}")
    server.start()
    await_devices(server, "", "")
    second = server.submit(a_spec("second"))["id"]
    assert has(server, second) == f"{SECOND},{THIRD}"


def test_what_the_file_says_now_is_what_the_node_has(server: MusterServer) -> None:
    status, refused = server.call("POST", "/api/v1/jobs", {"spec": a_spec("other", resource=DSP)})
    assert (status, refused["code"]) == (422, "unplaceable")
    assert f"asks for 1 {DSP}, and no node has one: the cluster offers {FPGA}" in refused["detail"]

    write(server.home, f"{{{DSP}: {FIRST}}}")
    await_devices(server, "")
    job = server.submit(a_spec("other", resource=DSP))["id"]
    server.wait_for_state(job, "Running")
    status, refused = server.call("POST", "/api/v1/jobs", {"spec": a_spec("more")})
    assert (status, f"the cluster offers {DSP}" in refused["detail"]) == (422, True)


def test_people_see_devices_and_why_one_is_out_of_service(server: MusterServer, tmp_path: Path) -> None:
    (node,) = server.json("get", "nodes")["items"]
    assert node["alerts"] == [f"{FPGA} 2 is out of service: /dev/no-such-fpga does not exist"]
    assert f"{FPGA}:0/3 (1 out of service)" in server.run("get", "nodes", "-o", "wide", check=True).stdout
    told = server.run("describe", f"node/{node['name']}", check=True).stdout
    assert f"{FPGA} 1 ({SECOND}, {THIRD}): free\n" in told
    assert f"{FPGA} 2 (/dev/no-such-fpga): free; out of service: /dev/no-such-fpga does not exist\n" in told

    file = tmp_path / "job.yaml"
    file.write_text(f"name: shown\ncommand: 'true'\nresources: {{devices: {{{FPGA}: 1}}}}\n")
    shown = server.json("submit", "--dry-run", str(file))
    assert shown["requests"][0]["env"]["MUSTER_DEVICES_TEST_EXAMPLE_FPGA"] == FIRST
    assert f"{FPGA}=1" in server.run("submit", "--dry-run", str(file), check=True).stdout
