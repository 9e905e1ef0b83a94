"""dstack tasks on a real server."""

from pathlib import Path

import pytest

from tests.conformance.running import refused, run_file, written
from tests.parts.server import MusterServer

ONE_MACHINE = ("--set", "where.spread=pack")


def test_commands_run_on_each_node_with_its_rank_and_the_folder_that_is_sent(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    written(tmp_path, "src/hello.txt", "hello\n")
    task = [
        "type: task",
        "name: dstack-nodes",
        "nodes: 2",
        "repos: [.]",
        "working_dir: src",
        "env: [WHO=world]",
        "resources: {cpu: 0.25..}",
        "commands:",
        "  - cd .",
        '  - echo "$(cat hello.txt) $WHO $DSTACK_NODE_RANK/$DSTACK_NODES_NUM $DSTACK_GPUS_NUM $DSTACK_RUN_NAME"',
        "  - |",
        '    test "$(echo "$DSTACK_NODES_IPS" | wc -l)" = 2',
        '    test "$(wc -l <"$DSTACK_MPI_HOSTFILE")" = 2',
        '  - test "$DSTACK_MASTER_NODE_IP" = 127.0.0.1',
    ]

    ran = run_file(muster_server, written(tmp_path, "task.dstack.yml", task), *ONE_MACHINE)

    assert ran.state == "Succeeded", ran.log
    assert ran.of("worker-0") == ["hello world 0/2 0 dstack-nodes"]
    assert ran.of("worker-1") == ["hello world 1/2 0 dstack-nodes"]


def test_command_that_fails_ends_the_task(muster_server: MusterServer, tmp_path: Path) -> None:
    task = ["type: task", "commands: [echo first, 'false', echo never]"]

    ran = run_file(muster_server, written(tmp_path, "ends.dstack.yml", task))

    assert (ran.state, ran.log) == ("Failed", "first\n")


@pytest.mark.parametrize("kind", ["dev-environment", "service", "fleet", "gateway", "volume"])
def test_other_configurations_are_refused_by_their_names(
    muster_server: MusterServer, tmp_path: Path, kind: str
) -> None:
    file = written(tmp_path, "other.dstack.yml", f"type: {kind}\nname: other\n")

    assert f"this looks like a dstack {kind.replace('-', ' ')}" in refused(muster_server, file)
