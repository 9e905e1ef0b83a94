"""The capability `task-commands`: commands in running tasks."""

import asyncio
from collections.abc import Sequence

import pytest

from muster.domain.errors import Conflict
from muster.domain.tasks import Task
from muster.ports.backend import Phase
from muster.ports.capabilities import CommandEnd, CommandOutput, CommandSession, TaskCommands, TaskRef, Terminal
from tests.contract.backends.observing import DEADLINE_S, Site

pytestmark = pytest.mark.anyio


async def test_both_streams_come_unmixed_and_the_end_has_the_exit_code(site: Site) -> None:
    (task,) = await _running(site)
    output, end = await _executed(site, task, "echo out; echo err >&2; exit 3")
    assert output == {"stdout": b"out\n", "stderr": b"err\n"}
    assert end == CommandEnd(3)


async def test_a_command_has_the_variables_of_its_task(site: Site) -> None:
    (task,) = await _running(site, env={"OF_THE_TASK": "yes"})
    output, _ = await _executed(site, task, 'echo "$OF_THE_TASK $MUSTER_JOB_ID"')
    assert output["stdout"].decode() == f"yes {task.job_id}\n"


async def test_words_are_no_shell_script(site: Site) -> None:
    (task,) = await _running(site)
    output, _ = await _run(site, task, ("echo", "$HOME; echo two", "`id`"))
    assert output["stdout"] == b"$HOME; echo two `id`\n"


async def test_input_comes_through_whole_and_its_end_is_noticed(site: Site) -> None:
    (task,) = await _running(site)
    data = bytes(range(256)) * 4000
    async with asyncio.timeout(DEADLINE_S), _commands(site).run(TaskRef.of(task), ("cat",), None) as session:
        sending = asyncio.create_task(_send_all(session, data))
        output, end = await _rest(session)
        await sending
    assert output["stdout"] == data
    assert end.exit_code == 0


async def test_output_of_any_length_comes_whole(site: Site) -> None:
    (task,) = await _running(site)
    output, _ = await _executed(site, task, "head -c 3000000 /dev/zero")
    assert len(output["stdout"]) == 3_000_000


async def test_a_terminal_has_its_size_and_can_be_resized(site: Site) -> None:
    """A terminal may get its size a moment after the command has started."""
    (task,) = await _running(site)
    until = "until [ \"$(stty size)\" = '{}' ]; do sleep 0.05; done; echo {}"
    script = f"test -t 0 -a -t 1 || exit 1; {until.format('33 101', 'first')}; {until.format('40 120', 'then')}"
    commands, terminal = _commands(site), Terminal(33, 101, "xterm")
    async with (
        asyncio.timeout(DEADLINE_S),
        commands.run(TaskRef.of(task), ("sh", "-c", script), terminal) as session,
    ):
        said, is_resized = b"", False
        async for piece in session.output():
            if isinstance(piece, CommandEnd):
                assert piece.exit_code == 0, said
                break
            said += piece.data
            if b"first" in said and not is_resized:
                is_resized = True
                await session.resize(40, 120)
    assert said.split() == [b"first", b"then"]


async def test_control_c_at_a_terminal_interrupts(site: Site) -> None:
    (task,) = await _running(site)
    script = "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done"
    run = _commands(site).run(TaskRef.of(task), ("sh", "-c", script), Terminal(24, 80))
    async with asyncio.timeout(DEADLINE_S), run as session:
        said = b""
        async for piece in session.output():
            if isinstance(piece, CommandEnd):
                assert piece.exit_code == 9
                return
            said += piece.data
            if b"ready" in said and b"^C" not in said:
                await session.send(b"\x03")


async def test_leaving_early_kills_the_command_and_not_the_task(site: Site) -> None:
    (task,) = await _running(site)
    script = "echo started; exec sleep 4321"
    run = _commands(site).run(TaskRef.of(task), ("sh", "-c", script), None)
    async with asyncio.timeout(DEADLINE_S), run as session:
        said = b""
        async for piece in session.output():
            assert isinstance(piece, CommandOutput)
            said += piece.data
            if b"started" in said:
                break
    count = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 43''21'"
    async with asyncio.timeout(DEADLINE_S):
        while (await _executed(site, task, count))[0]["stdout"].strip() != b"0":
            await asyncio.sleep(0.05)


async def test_a_command_ends_with_its_task(site: Site) -> None:
    (task,) = await _running(site)
    run = _commands(site).run(TaskRef.of(task), ("sh", "-c", "echo started; exec sleep 600"), None)
    async with asyncio.timeout(DEADLINE_S), run as session:
        async for piece in session.output():
            if isinstance(piece, CommandEnd):
                assert piece.exit_code != 0
                break
            if b"started" in piece.data:
                await site.backend.stop([TaskRef.of(task)], 0.0)


async def test_a_task_that_has_ended_is_a_conflict(site: Site) -> None:
    (task,) = await _running(site)
    commands = _commands(site)
    site.harness.tasks.finish(task, 0)
    await site.observer.sees(task, Phase.ENDED)
    with pytest.raises(Conflict):
        async with commands.run(TaskRef.of(task), ("true",), None):
            pass


async def _running(site: Site, **more: object) -> tuple[Task, ...]:
    _commands(site)
    return await site.running(**more)  # type: ignore[arg-type]


async def _executed(site: Site, task: Task, script: str) -> tuple[dict[str, bytes], CommandEnd]:
    return await _run(site, task, ("sh", "-c", script))


async def _run(site: Site, task: Task, argv: Sequence[str]) -> tuple[dict[str, bytes], CommandEnd]:
    async with asyncio.timeout(DEADLINE_S), _commands(site).run(TaskRef.of(task), argv, None) as session:
        return await _rest(session)


async def _rest(session: CommandSession) -> tuple[dict[str, bytes], CommandEnd]:
    output = {"stdout": b"", "stderr": b""}
    async for piece in session.output():
        if isinstance(piece, CommandEnd):
            return output, piece
        output[piece.stream] += piece.data
    raise AssertionError("the command has no end")


async def _send_all(session: CommandSession, data: bytes) -> None:
    await session.send(data)
    await session.end_input()


def _commands(site: Site) -> TaskCommands:
    commands = site.backend.capabilities.task_commands
    if commands is None:
        pytest.skip("this backend does not offer commands in tasks")
    return commands
