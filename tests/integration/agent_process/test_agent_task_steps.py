"""Steps beside tasks of a batch system: the agent of a login node starts them, by an `srun` that runs them here."""

import base64
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.agent.batch.entry import ENTRY
from muster.agent.batch.spool import BEGIN, END, Spool
from muster.agent.system.frames import Message
from muster.agent.system.processes import boot_id, identity_of

from .driver import SOURCES, Agent, Refused, is_running, read_pid, wait_until

_TASK = "job.1.worker.0"
_SRUN = """#!/bin/sh
echo $$ >> {folder}/calls
if [ -e {folder}/refusal ]; then cat {folder}/refusal >&2; exit 1; fi
echo "Welcome to this cluster"
while [ "${{1#--}}" != "$1" ]; do shift; done
"$@"
"""


_IMPATIENT = """#!/bin/sh
exec {python} -I -S -c '
import sys
sys.path.insert(0, sys.argv[1])
from muster.agent.batch import task_session
task_session._LOOK_EVERY_S = 0.05
task_session.{setting}
task_session.main()
' "$5" "$6"
"""
"""Gets the words of Python: -I -S -c PROGRAM ARCHIVE TARGET."""


class Site:
    """A login node, and one task of a gang that runs on this machine."""

    def __init__(self, agent: Agent, folder: Path, python: str) -> None:
        self.agent, self.folder = agent, folder
        self.spool = Spool(os.path.realpath(agent.root))
        self.gang = self.spool.gang("job.1")
        self.python = python
        for name, script in (("srun", _SRUN.format(folder=folder)), ("sbatch", "#!/bin/sh\necho slurm 22.05\n")):
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        agent.ask("batch_open", commands=str(folder), env={}, relay=False)
        self.gang.write_facts({"name": "job", "tasks": [_TASK], "digests": [], "user": "", "amounts": {}})
        self.gang.write_job("7")
        self.work = Path(self.gang.task_folder(_TASK)) / "work"
        self.work.mkdir(parents=True)
        env = {**os.environ, "OF_THE_TASK": "yes"}
        self.process = subprocess.Popen(["sleep", "300"], env=env, start_new_session=True)

    def begin(self) -> None:
        entry = {
            "process": list(identity_of(self.process.pid, boot_id())),
            "folder": self.gang.task_folder(_TASK),
            "python": self.python,
            "archive": str(SOURCES),
            "libraries": "",
            "component": None,
        }
        self.gang_mark(BEGIN, {"at": 1.0, "node": "n1", "pid": self.process.pid, ENTRY: entry})

    def impatient(self, setting: str) -> None:
        """Sessions that are started from now on wait for less long."""
        program = self.folder / "impatient"
        program.write_text(_IMPATIENT.format(python=self.python, setting=setting))
        program.chmod(0o755)
        self.python = str(program)

    def gang_mark(self, name: str, mark: Message) -> None:
        self.spool.write_mark(self.gang, _TASK, name, mark)

    def ask(self, op: str, **fields: object) -> Message:
        return self.agent.ask("batch_in_task", task=_TASK, asked=op, **fields)

    def start(self, script: str) -> str:
        return str(self.ask("exec_in_task", argv=["/bin/sh", "-c", script], terminal=None)["exec"])

    def rest(self, name: str) -> tuple[bytes, Message]:
        said = b""
        while True:
            answer = self.ask("exec_read", exec=name)
            said += b"".join(base64.b64decode(piece["data"]) for piece in answer["output"])
            if answer["ended"]:
                return said, answer

    @property
    def steps(self) -> list[int]:
        """The processes of all steps that were ever started."""
        calls = self.folder / "calls"
        return [int(pid) for pid in calls.read_text().split()] if calls.exists() else []

    def await_no_step(self) -> None:
        wait_until(lambda: not any(is_running(pid) for pid in self.steps), "the end of all steps")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def site(agent: Agent, tmp_path: Path, python: str) -> Iterator[Site]:
    folder = tmp_path / "commands"
    folder.mkdir()
    made = Site(agent, folder, python)
    yield made
    made.close()
    if agent.process.poll() is None:
        agent.close()
    made.await_no_step()


def test_commands_in_a_task_share_one_step_and_have_its_variables(site: Site) -> None:
    site.begin()
    script = 'pwd; echo "$OF_THE_TASK"; echo $$; exit 3'
    first, second = (site.rest(site.start(script)) for _ in range(2))
    assert [one[0].decode().split()[:2] for one in (first, second)] == [[str(site.work), "yes"]] * 2
    assert [one[1]["exit_code"] for one in (first, second)] == [3, 3]
    assert len(site.steps) == 1


def test_input_of_any_bytes_comes_back_whole(site: Site) -> None:
    site.begin()
    data = bytes(range(256)) * 200
    name = site.start("cat")
    assert site.ask("exec_write", exec=name, data=data, last=True)["taken"]
    assert site.rest(name)[0] == data


def test_task_that_waits_or_has_ended_is_not_entered(site: Site) -> None:
    with pytest.raises(Refused, match="has not begun") as waiting:
        site.start("true")
    site.begin()
    site.gang_mark(END, {"at": 2.0, "code": 0})
    with pytest.raises(Refused, match="has ended") as ended:
        site.start("true")
    assert waiting.value.code == ended.value.code == "not-running"
    assert not site.steps


def test_refusal_is_passed_on_in_the_words_of_the_batch_system_and_the_next_try_may_work(site: Site) -> None:
    site.begin()
    refusal = site.folder / "refusal"
    refusal.write_text("srun: error: Unable to create step for job 7: Job/step already completing or completed\n")
    with pytest.raises(Refused, match="Unable to create step for job 7: Job/step already completing") as refused:
        site.start("true")
    assert refused.value.code == "start-failed"
    refusal.unlink()
    assert site.rest(site.start("echo again"))[0] == b"again\n"


def test_command_and_step_end_with_the_task(site: Site) -> None:
    site.begin()
    name = site.start(f"echo ready; echo $$ > {site.folder}/pid; exec sleep 300")
    pid = read_pid(site.folder / "pid")
    site.process.kill()
    said, end = site.rest(name)
    assert (said, end["task_ended"]) == (b"ready\n", True)
    assert not is_running(pid)
    site.await_no_step()


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "left"])
def test_everything_ends_with_the_agent(site: Site, *, is_killed: bool) -> None:
    site.begin()
    site.start(f"setsid sh -c 'echo $$ > {site.folder}/pid; exec sleep 300' & wait")
    pid = read_pid(site.folder / "pid")
    if is_killed:
        site.agent.kill()
    else:
        site.agent.close()
    wait_until(lambda: not is_running(pid), "the end of the command")
    site.await_no_step()


def test_step_that_nobody_uses_ends_and_the_next_command_has_another(site: Site) -> None:
    site.impatient("_IDLE_S = 0.1")
    site.begin()
    assert site.rest(site.start("sleep 1; echo one"))[0] == b"one\n"
    site.await_no_step()
    assert site.rest(site.start("echo two"))[0] == b"two\n"
    assert len(site.steps) == 2


def test_step_that_hears_nothing_from_the_login_node_ends_with_its_commands(site: Site) -> None:
    site.impatient("_SILENT_S = 1.0")
    site.begin()
    site.start(f"echo $$ > {site.folder}/pid; exec sleep 300")
    wait_until(lambda: not is_running(read_pid(site.folder / "pid")), "the end of the command")
    site.await_no_step()


def test_reader_is_told_that_the_step_was_lost(site: Site) -> None:
    site.begin()
    name = site.start(f"echo $$ > {site.folder}/pid; exec sleep 300")
    pid = read_pid(site.folder / "pid")
    reading = site.agent.send("batch_in_task", task=_TASK, asked="exec_read", exec=name)
    for step in site.steps:
        for child in Path(f"/proc/{step}/task/{step}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
    with pytest.raises(Refused, match="has ended") as lost:
        site.agent.answer(reading)
    assert lost.value.code == "batch-unreachable"
    wait_until(lambda: not is_running(pid), "the end of the command")
    with pytest.raises(Refused) as unknown:
        site.ask("exec_read", exec=name)
    assert unknown.value.code == "bad-request"
    assert site.ask("exec_stop", exec=name)["ok"]
