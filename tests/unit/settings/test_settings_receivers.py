"""The file of `muster receivers deploy`: what it may say, and every mistake with its line."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid, Problem
from muster.receivers.addresses import parse_address
from muster.settings.receivers import ReceiversPlan, Sound, read_receivers_file

pytestmark = pytest.mark.fast
SEED = """
receivers = [
    "127.0.0.1:9090",
    "127.0.0.1:9091",
    "127.0.0.1:9092",
    ]
platform = "{folder}/train"
scheduler = "{folder}/scheduler"
deploy_dir = "{folder}/platform2_deployment"
log_server = "yq01-idl-gpu-offline14.yq01.baidu.com:9900"
"""


def read(folder: Path, text: str, name: str = "receivers.yaml") -> ReceiversPlan:
    file = folder / name
    file.write_text(text)
    return read_receivers_file(file)


def refused(folder: Path, text: str, name: str = "receivers.yaml") -> list[str]:
    with pytest.raises(Invalid) as error:
        read(folder, text, name)
    return [str(problem).removeprefix(f"{folder / name}, ") for problem in error.value.problems]


def test_the_file_of_the_old_platform_is_read_as_it_is(tmp_path: Path) -> None:
    configs = tmp_path / "train" / "core" / "nodes.configs"
    (configs / "box_slurm_cluster").mkdir(parents=True)
    (configs / "cpu_cluster").mkdir()
    (configs / "cpu_cluster" / "cluster.yaml").write_text("backend: ssh\n")
    plan = read(tmp_path, SEED.replace("{folder}", str(tmp_path)), "deploy.py")
    assert [one.address for one in plan.settings.receivers] == [f"127.0.0.1:{port}" for port in (9090, 9091, 9092)]
    assert plan.clusters == configs
    assert plan.settings.deploy_dir == tmp_path / "platform2_deployment"
    assert plan.settings.log_server is not None
    assert plan.settings.log_server.url == "http://yq01-idl-gpu-offline14.yq01.baidu.com:9900"
    assert plan.notes == (
        "scheduler has no effect: Muster schedules itself",
        "start-monitor would tell nobody: give warning_maillist, or write `notices` into its monitor.yaml",
        f"no jobs can run on box_slurm_cluster: there is no cluster.yaml in {configs}/box_slurm_cluster",
    )


def test_nothing_in_a_python_file_is_executed(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    text = f'receivers = [open("{gate}", "w").name]\ndeploy_dir = "/srv"\n'
    (problem,) = refused(tmp_path, text, "deploy.py")
    assert problem.startswith("line 1: receivers[0]: `open('…', '…').name` is not a literal")
    assert not gate.exists()


def test_all_mistakes_are_told_with_their_lines(tmp_path: Path) -> None:
    text = """\
receivers:
- 127.0.0.1
- {address: "a:9090", offers: []}
- {addres: "a:9091"}
- "a b:9090"
- a:70000
deploy_dir: relative/folder
platfrom: /x
log_server: "http://me:secret@host"
settings: {port: 3}
"""
    found = refused(tmp_path, text)
    assert [problem.partition(" (")[0] for problem in found] == [
        "line 2: receivers[0]: must be host:port, such as gpu1.example.org:9090 or [::1]:9090",
        "line 3: receivers[1].offers: names no cluster: leave it out to offer all",
        "line 4: receivers[2].address: is required",
        "line 4: receivers[2].addres: unknown key",
        "line 5: receivers[3]: must be host:port, such as gpu1.example.org:9090 or [::1]:9090",
        "line 6: receivers[4]: must be host:port, such as gpu1.example.org:9090 or [::1]:9090",
        "line 7: deploy_dir: must be an absolute path: it must not depend on where the command is run",
        "line 8: platfrom: unknown key",
        "line 9: log_server: must not contain an account; use `tokenFile`",
        "line 10: settings: must not have port: the deployment decides that",
    ]
    assert "secret" not in "".join(found)
    assert "did you mean platform?" in found[-3]


def test_one_mistake_hides_no_other(tmp_path: Path) -> None:
    text = f"""\
receivers: ["a:9090", "b", "A:9090"]
deploy_dir: {tmp_path}/deployed
clusters: {tmp_path}/nowhere
log_server: {{url: "a:9900", tokenFile: nofile}}
settings: {{logLevel: loud}}
warning_maillist: ada@example.org
platform: train
"""
    assert [problem.partition(" (")[0] for problem in refused(tmp_path, text)] == [
        "line 1: receivers[1]: must be host:port, such as gpu1.example.org:9090 or [::1]:9090",
        "line 1: receivers[2]: a:9090 is given twice",
        f"line 3: clusters: there is no folder {tmp_path}/nowhere",
        "line 3: clusters: is given besides platform",
        f"line 4: log_server: cannot read {tmp_path}/deployed/store/nofile: No such file or directory",
        "line 5: settings.logLevel: is 'loud'",
        "line 6: warning_maillist: is 'ada@example.org'",
        "line 7: platform: must be an absolute path: it must not depend on where the command is run",
    ]


def test_what_this_machine_refuses_is_told_among_the_rest(tmp_path: Path) -> None:
    seen: list[Sound] = []

    def refuse(sound: Sound) -> list[Problem]:
        seen.append(sound)
        return [Problem("receivers[1]", "port 2 is in use")]

    file = tmp_path / "receivers.yaml"
    file.write_text("receivers:\n- a:1\n- a:2\ndeploy_dir: /srv\ndatabase: mysql://x\nplatfrom: x\n")
    with pytest.raises(Invalid) as error:
        read_receivers_file(file, refuse)
    assert [(one.line, one.path) for one in error.value.problems] == [(3, "receivers[1]"), (6, "platfrom")]
    assert seen == [Sound({0: parse_address("a:1"), 1: parse_address("a:2")}, Path("/srv"), "mysql://x")]


def test_what_does_not_fit_together_is_told_too(tmp_path: Path) -> None:
    text = f"""\
receivers: ["a:9090", "b:9090",
  "A:9090"]
deploy_dir: {tmp_path}/deployed
platform: {tmp_path}
settings: {{logLevel: loud, prot: 1}}
"""
    assert [problem.partition(" (")[0] for problem in refused(tmp_path, text)] == [
        "line 2: receivers[2]: a:9090 is given twice",
        f"line 4: platform: there is no folder {tmp_path}/core/nodes.configs: its folders are the clusters; "
        "or leave platform out",
        "line 5: settings.logLevel: is 'loud'",
        "line 5: settings.prot: unknown key",
    ]


def test_nothing_is_said_of_a_monitor_that_can_tell_somebody(tmp_path: Path) -> None:
    assert read(tmp_path, "receivers: [a:1]\ndeploy_dir: /srv\nwarning_maillist: [a@example.org]\n").notes == ()


def test_a_name_for_all_settings_that_deployments_leave(tmp_path: Path) -> None:
    plan = read(tmp_path, "receivers: [a:1]\ndeploy_dir: /srv\nsettings: {privateJobs: true, keepData: 3d}\n")
    assert plan.settings.settings == {"privateJobs": True, "keepData": "3d"}


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(Invalid, match="more than 4 MiB"):
        read_receivers_file(Path("/dev/zero"))
