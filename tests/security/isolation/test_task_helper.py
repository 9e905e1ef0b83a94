"""What somebody who has taken over the agent's account can do with the task helper: nothing as root.

The account calls the helper by a real sudo rule, with orders that an agent would never give. A host of its own has it
installed as the guide says.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.host_claims import CommandFailed
from tests.parts.hosts import PLAIN_USER, Host, HostOptions, HostPool, hosts_unavailable

HELPER = "/usr/local/lib/muster/task-helper"
ROOT = f"/home/{PLAIN_USER}/.muster-node"
TASK = f"{ROOT}/server/tasks/job.1.worker.0"
OWNER = 70_123
AS_AGENT = ("setpriv", f"--reuid={PLAIN_USER}", f"--regid={PLAIN_USER}", "--clear-groups")
MAKE_TASK = f"umask 077; rm -rf {TASK}; mkdir -p {TASK}/work {ROOT}/server/inputs; touch {TASK}/log; chmod 711 {TASK}"


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    if reason := hosts_unavailable():
        pytest.skip(reason)
    with HostPool([HostOptions(user=PLAIN_USER, task_helper=True)]) as pool:
        yield pool[0]


@pytest.fixture(autouse=True)
def task(host: Host) -> None:
    host.run([*AS_AGENT, "sh", "-c", MAKE_TASK])


def helped(host: Host, *arguments: str, given: str = "", caller: tuple[str, ...] = AS_AGENT) -> str:
    return host.run([*caller, "sudo", "-n", HELPER, *arguments], given=given)


def order(script: str, **more: Any) -> str:
    wished = {"uid": OWNER, "names": [], "inputs": [], "cwd": "/", "argv": ["sh", "-c", script], "env": {}}
    return json.dumps({**wished, **more})


def refused(host: Host, *arguments: str, given: str = "", caller: tuple[str, ...] = AS_AGENT) -> str:
    with pytest.raises(CommandFailed) as failed:
        helped(host, *arguments, given=given, caller=caller)
    return str(failed.value)


def test_a_task_runs_under_the_account_and_its_files_come_back(host: Host) -> None:
    script = "id -u; id -G; umask 077; mkdir deep; echo secret > deep/file; grep NoNewPrivs /proc/self/status; ls /root"
    said = helped(host, "run", TASK, given=order(f"cd {TASK}/work; {script} || true"))
    assert said.split() == [str(OWNER), str(OWNER), "NoNewPrivs:", "1"]
    assert owners(host, f"{TASK}/work/deep/file", f"{TASK}/log", TASK) == [str(OWNER), str(OWNER), PLAIN_USER]
    helped(host, "reclaim", TASK)
    assert owners(host, f"{TASK}/work/deep/file", f"{TASK}/log", f"{TASK}/work") == [PLAIN_USER] * 3


def test_no_task_runs_as_root_or_under_an_account_of_the_system(host: Host) -> None:
    agents_uid = int(host.run(["id", "-u", PLAIN_USER]))
    for uid in (0, 1, 33, 999, 65_534, agents_uid, 60_000, -1, True, None, "0", 2**32, 2**32 + 70_000):
        said = refused(host, "run", TASK, given=order("id", uid=uid))
        assert "task-helper: n" in said, (uid, said)
    assert owners(host, f"{TASK}/work") == [PLAIN_USER]


def test_only_folders_of_tasks_that_are_the_agents_are_used(host: Host) -> None:
    host.run(["sh", "-c", f"mkdir -p /srv/own/tasks/t {ROOT}/server/tasks/roots && touch /srv/own/tasks/t/log"])
    host.run([*AS_AGENT, "sh", "-c", f"ln -sfn /srv/own {ROOT}/linked; ln -sfn /etc {ROOT}/server/tasks/etc"])
    for folder in (
        *(
            "/etc",
            "/srv/own/tasks/t",
            f"{ROOT}/linked/tasks/t",
            f"{ROOT}/server/tasks/etc",
            f"{ROOT}/server/tasks/roots",
        ),
        *(
            f"{ROOT}/server/tasks/..",
            f"{TASK}/",
            f"{TASK}/work",
            f"{ROOT}/server/tasks",
            f"{ROOT}/../../root/tasks/x",
            "",
        ),
    ):
        for verb in ("run", "reclaim", "kill"):
            assert "task-helper:" in refused(host, verb, folder, given=order("id")), folder


def test_files_of_others_are_neither_given_away_nor_taken(host: Host) -> None:
    """The agent's account puts them in the way: by links, and by names that leave the folder."""
    host.run(["sh", "-c", "echo root > /home/of-root; chmod 600 /home/of-root"])
    host.run([*AS_AGENT, "sh", "-c", f"ln -s /etc/shadow {TASK}/work/shadow; ln -s /etc {TASK}/work/etc"])
    host.run(["ln", "/home/of-root", f"{TASK}/work/hard"])
    helped(host, "run", TASK, given=order("true"))
    helped(host, "reclaim", TASK)
    assert owners(host, "/etc/shadow", "/etc", "/home/of-root") == ["root"] * 3
    for name in ("../../accounts.json", "work/../..", "..", "."):
        assert "is not a name" in refused(host, "run", TASK, given=order("id", names=[name]))
    host.run([*AS_AGENT, "sh", "-c", f"rm -rf {TASK}/log; ln -s /etc/shadow {TASK}/log"])
    assert "is not a file" in refused(host, "run", TASK, given=order("id"))
    assert host.run(["stat", "-c", "%a", "/etc/shadow"]).strip() == "600"


def test_a_file_of_the_account_that_has_another_name_stays_its_own(host: Host) -> None:
    """Package managers link files from a cache in the home, which must not become the agent's."""
    helped(host, "run", TASK, given=order(f"echo cached > {TASK}/work/linked"))
    host.run(["ln", f"{TASK}/work/linked", "/home/cache"])
    helped(host, "reclaim", TASK)
    assert owners(host, "/home/cache", f"{TASK}/work") == [str(OWNER), PLAIN_USER]


def test_only_processes_of_the_task_are_signalled(host: Host) -> None:
    """The mark alone is not enough, and neither is the account."""
    marked, other = f"MUSTER_TASK_DIR={TASK}", f"MUSTER_TASK_DIR={TASK}2"
    as_owner = ("setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups")
    naps = {"71001": ("env", marked), "71002": (*as_owner, "env", other), "71003": (*as_owner, "env", marked)}
    for nap, prefix in naps.items():
        host.run(["sh", "-c", f"setsid {' '.join(prefix)} sleep {nap} > /dev/null 2>&1 < /dev/null &"])
    helped(host, "run", TASK, given=order("true"))
    assert helped(host, "kill", TASK).strip() == "1"
    running = host.processes("^sleep 7100")
    assert sorted(running.values()) == ["sleep 71001", "sleep 71002"]
    host.kill("^sleep 7100")


def test_inputs_are_folders_of_inputs_and_read_only(host: Host) -> None:
    content = f"{ROOT}/server/inputs/digest"
    host.run([*AS_AGENT, "sh", "-c", f"mkdir -p {content}; echo data > {content}/file; chmod -R a+rX {content}"])
    script = f"cat {content}/file; touch {content}/new || ls -A /home/{PLAIN_USER}"
    assert helped(host, "run", TASK, given=order(script, inputs=[content])).split() == ["data", ".muster-node"]
    for path in ("/root", f"{TASK}/work", f"{ROOT}/server/tasks/x", f"{content}/..", 5):
        assert "task-helper:" in refused(host, "run", TASK, given=order("id", inputs=[path])), path


def test_nobody_else_may_call_it_and_its_settings_are_roots(host: Host) -> None:
    assert "sudo:" in refused(host, "check", caller=("setpriv", "--reuid=60123", "--regid=60123", "--clear-groups"))
    assert "only the agent's account" in _problem(host, [HELPER, "check"])
    assert "usage" in refused(host, "run", TASK, "extra")
    assert "usage" in refused(host, "exec", TASK)
    assert json.loads(helped(host, "check"))["root"] == ROOT
    host.run(["chmod", "666", "/etc/muster/task-helper.json"])
    try:
        assert "must belong to root" in refused(host, "check")
    finally:
        host.run(["chmod", "644", "/etc/muster/task-helper.json"])


def test_a_task_has_only_the_groups_that_the_settings_allow(host: Host) -> None:
    host.run(["sh", "-c", "useradd -u 4400 -m bea; groupadd -f docker; groupadd -f lab; usermod -aG docker,lab bea"])
    assert helped(host, "run", TASK, given=order("id -Gn", uid=4400)).split() == ["bea"]
    settings = Path(host.path("/etc/muster/task-helper.json"))
    written = settings.read_text()
    host.run([*AS_AGENT, "sh", "-c", MAKE_TASK.replace("rm -rf", "true")])
    helped(host, "reclaim", TASK)
    settings.write_text(json.dumps({**json.loads(written), "groups": ["lab"]}))
    assert sorted(helped(host, "run", TASK, given=order("id -Gn", uid=4400)).split()) == ["bea", "lab"]
    helped(host, "reclaim", TASK)
    settings.write_text(json.dumps({**json.loads(written), "accounts": ["ann"]}))
    assert "under the account bea" in refused(host, "run", TASK, given=order("id", uid=4400))
    settings.write_text(written)


def owners(host: Host, *paths: str) -> list[str]:
    found = host.run(["stat", "-c", "%u", *paths]).split()
    names = {"0": "root", host.run(["id", "-u", PLAIN_USER]).strip(): PLAIN_USER}
    return [names.get(uid, uid) for uid in found]


def _problem(host: Host, argv: list[str]) -> str:
    with pytest.raises(CommandFailed) as failed:
        host.run(argv)
    return str(failed.value)
