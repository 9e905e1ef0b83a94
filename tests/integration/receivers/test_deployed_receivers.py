"""`muster receivers`: a deployment that is repeated, changed, refused, killed and stopped, with real processes."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.parts.receivers import Receivers, receivers
from tests.parts.server import polls


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Receivers]:
    with receivers(tmp_path, 2) as found:
        found.write()
        yield found


def lines(text: str, *names: str) -> list[str]:
    """Without what differs from run to run."""
    shown = [line for line in text.splitlines() if ": running, pid" not in line]
    for place, name in enumerate(names):
        shown = [line.replace(name, f"R{place}") for line in shown]
    return shown


def test_a_deployment_can_be_repeated_and_changes_only_what_changed(two: Receivers) -> None:
    first, second = two.names
    assert [line.partition(" in ")[0] for line in lines(two.deploy("--dry-run").stdout, *two.names)] == [
        "R0: created",
        "R1: created",
        "nothing was done, because of --dry-run",
    ]
    assert not two.deploy_dir.exists()
    two.deploy()
    before = two.pids()
    assert lines(two.deploy().stdout, *two.names) == ["R0: unchanged", "R1: unchanged"]
    assert two.pids() == before

    folder = two.deploy_dir / first.replace(":", "_")
    twice = subprocess.run([folder / "start-receiver"], capture_output=True, text=True, timeout=60, check=False)
    assert (twice.returncode, twice.stderr) == (3, f"{first} runs already, pid {before[first]}\n")
    for program in ("start-log-server", "start-monitor"):
        assert subprocess.run([folder / program, "--help"], capture_output=True, timeout=60, check=True).stdout

    two.file.write_text(two.file.read_text().replace(f"- {second}", f"- {{address: '{second}', offers: [local]}}"))
    assert lines(two.deploy().stdout, *two.names) == ["R0: unchanged", "R1: changed config.yaml; it runs on"]
    assert two.pids() == before

    config = two.deploy_dir / first.replace(":", "_") / "config.yaml"
    config.write_text(config.read_text() + "offers: [local]\n")
    two.file.write_text(two.file.read_text() + "settings: {logLevel: warning}\n")
    told = lines(two.deploy().stdout, *two.names)
    assert told[0].startswith("R0: kept config.yaml, which somebody has edited")
    assert told[1:] == ["R1: changed config.yaml", "R1: to be started anew with its new settings"]
    after = two.pids()
    assert (after[first] == before[first], after[second] == before[second]) == (True, False)

    two.write(names=[first])
    assert lines(two.deploy().stdout, *two.names)[-1].startswith("R1: no longer in the file, to be stopped")
    assert [one["state"] for one in two.list()] == ["Running", "Stopped"]
    assert two.run("remove", second).stdout == f"{second}: stopped\n{second}: removed\n"
    assert [one["name"] for one in two.list()] == [first]
    assert not (two.deploy_dir / second.replace(":", "_")).exists()
    assert two.run("stop", "--all").stdout == f"{first}: stopped\n"
    for _ in polls(30):
        if not two.processes():
            break
    assert not two.processes(), "stop has left something"
    assert two.run("stop", "nobody:1", check=False).stderr == (
        f"error: there is no receiver 'nobody:1'\nhint: there are: {first}\n"
    )


def test_the_store_knows_what_all_receivers_share(two: Receivers) -> None:
    clusters = two.folder / "clusters"
    clusters.mkdir()
    (clusters / "lab.yaml").write_text("backend: sssh\n")
    two.write(f"clusters: {clusters}\n", two.names[:1])
    two.deploy()
    store = two.server(two.names[0])
    for words in ((), (str(clusters),)):
        found = store.run("cluster", "check", *words)
        assert found.returncode == 1
        assert "lab.yaml, line 1: backend: there is no backend 'sssh'" in found.stdout
    both = store.run("cluster", "check", str(clusters), str(clusters / "lab.yaml"))
    assert (both.returncode, "Name files, or one folder." in both.stderr) == (2, True)
    (store.home / "config.yaml").write_text("logLevel: info\n")
    assert "store: kept config.yaml, which somebody has edited" in two.deploy().stdout


def test_the_login_prefers_those_that_offer_all_clusters(two: Receivers) -> None:
    first, second = two.names
    text = f"receivers: [{{address: '{first}', offers: [small]}}, '{second}']\ndeploy_dir: {two.deploy_dir}\n"
    two.file.write_text(text)
    assert f"note: there is no cluster small, which {first} offers" in two.deploy().stderr
    store = two.server(first)
    assert [line.split()[0] for line in store.run("get", "clusters").stdout.splitlines()] == ["NAME", "local"]
    (found,) = [one for one in json.loads(store.run("context", "list", "-o", "json").stdout)["items"] if one["current"]]
    assert (found["name"], found["servers"]) == ("receivers", [f"http://{second}", f"http://{first}"])


def test_what_cannot_be_deployed_is_refused_with_its_line_and_changes_nothing(two: Receivers) -> None:
    first, second = two.names
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(second.rpartition(":")[2])))
        taken.listen(1)
        two.write(names=[first, second, "203.0.113.1:9090", "nowhere.invalid:9090"])
        refused = two.deploy(check=False)
    assert refused.returncode == 2
    port = second.rpartition(":")[2]
    told = [line.strip().removeprefix(f"{two.file}, ").partition(" (")[0] for line in refused.stderr.splitlines()[1:]]
    assert told == [
        f"line 3: receivers[1]: port {port} is in use",
        "line 4: receivers[2]: 203.0.113.1 is not an address of this machine",
        "line 5: receivers[3]: the name nowhere.invalid is not known",
    ]
    assert not two.deploy_dir.exists()
    (two.folder / "file").touch()
    two.file.write_text(f"receivers: ['{first}']\ndeploy_dir: {two.folder}/file/below\n")
    refused = two.deploy(check=False)
    assert f"line 2: deploy_dir: {two.folder}/file is not a folder" in refused.stderr
    assert two.run("list").stdout.split() == ["NAME", "STATE", "PID", "FOLDER", "WHY"]


def test_whoever_is_killed_no_receiver_is_lost_and_none_doubled(two: Receivers) -> None:
    first, second = two.names
    two.deploy()
    before = two.pids()
    os.kill(before[first], signal.SIGKILL)
    two.wait_until_running()
    after = two.pids()
    assert (after[first] == before[first], after[second] == before[second]) == (False, True)

    os.kill(two.supervisor(), signal.SIGKILL)
    for _ in polls(30):
        if "has no supervisor" in two.run("list").stderr:
            break
    os.kill(after[second], signal.SIGKILL)
    two.run("start", "--all")
    two.wait_until_running()
    adopted = two.pids()
    assert (adopted[first] == after[first], adopted[second] == after[second]) == (True, False)
    os.kill(adopted[first], signal.SIGKILL)  # one that is no child of its supervisor
    two.wait_until_running()


def test_a_supervisor_that_is_killed_while_it_starts_receivers_leaves_one_of_each(two: Receivers) -> None:
    two.deploy()
    for wait_for in ("muster.receivers.launch", "muster.bootstrap"):
        two.run("stop", "--all")
        with two.popen("start", "--all") as starting:
            for _ in polls(60, every_s=0.01):
                if two.processes(wait_for):
                    break
            for pid in two.processes("muster.receivers.supervising"):
                with suppress(ProcessLookupError):  # it may have ended since it was listed
                    os.kill(pid, signal.SIGKILL)
            starting.communicate(timeout=600)
        assert starting.returncode == 0, "another supervisor went on"
        two.wait_until_running()
        for name in two.names:
            assert len(two.processes(two.config(name))) == 1, two.processes()
