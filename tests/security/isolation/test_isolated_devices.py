"""A task reaches its own devices other than GPUs, and none of those that were allocated to others."""

from pathlib import Path

import pytest

from tests.integration.agent_process.driver import Refused
from tests.security.isolation.scene import scene

OWN, OTHERS, LINK = "/dev/fpga1", "/dev/fpga0", "/dev/fpga-by-name"
_TRIES = 'for path in {}; do head -c 1 "$path" > /dev/null 2>&1 && echo "opened $path"; done; true'


@pytest.mark.parametrize(("mode", "groups_version"), [("namespace", 1), ("user", 1), ("user", 2)])
def test_a_task_opens_its_own_devices_and_no_others(mode: str, groups_version: int, tmp_path: Path) -> None:
    with scene(mode, tmp_path, groups_version=groups_version) as here:
        if mode == "user" and here.agent.ask("hello")["isolation"].get("devices"):
            pytest.skip("control groups cannot close devices on this machine")
        order = {"device_files": [OWN], "other_device_files": [OTHERS]}
        found = here.run("tries", _TRIES.format(f"{OWN} {OTHERS}"), **order)
        assert found.log == f"opened {OWN}\n"


def test_a_namespaced_task_without_devices_sees_none(tmp_path: Path) -> None:
    with scene("namespace", tmp_path) as here:
        found = here.run("looks", "ls /dev", other_device_files=[OWN, OTHERS])
        assert "null" in found.log
        assert "fpga" not in found.log


def test_a_device_that_is_named_by_a_link_is_shown_under_that_name(tmp_path: Path) -> None:
    with scene("namespace", tmp_path) as here:
        found = here.run("link", _TRIES.format(f"{LINK} {OWN}"), device_files=[LINK], other_device_files=[OTHERS])
        assert found.log == f"opened {LINK}\n"


def test_devices_are_checked_where_they_are(tmp_path: Path) -> None:
    with scene("none", tmp_path) as here:
        answer = here.agent.ask("check_devices", paths=[OWN, LINK, "/dev/fpga7", "/dev/pts"])
        assert answer["problems"] == {"/dev/fpga7": "does not exist"}


def test_only_paths_in_dev_are_devices(tmp_path: Path) -> None:
    with scene("none", tmp_path) as here:
        for paths in (["/etc/shadow"], ["/dev/../etc/shadow"], ["/dev//x"], "/dev/null", [7]):
            with pytest.raises(Refused) as refused:
                here.agent.ask("check_devices", paths=paths)
            assert refused.value.code == "bad-request"
