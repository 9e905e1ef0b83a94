"""A task says where it can be followed by writing a file; the agent tells it on."""

from pathlib import Path

from .driver import Agent


def wait_for_url(agent: Agent, task: str, url: str) -> None:
    def is_told() -> bool:
        statuses = [event["status"] for event in agent.events if event["event"] == "task"]
        return any(one["task"] == task and one["tracking_url"] == url for one in statuses)

    agent.read_until(is_told, f"the address {url} of {task}")


def test_an_address_is_told_when_it_is_written_and_when_it_changes(agent: Agent) -> None:
    agent.shell("t", 'echo http://a/1 > "$MUSTER_TASK_DIR/tracking-url"; sleep 60')
    wait_for_url(agent, "t", "http://a/1")
    (agent.root / "tasks/t/tracking-url").write_text("http://a/2\nand more\n")
    wait_for_url(agent, "t", "http://a/2")


def test_a_task_that_ends_leaves_its_last_address(agent: Agent) -> None:
    ended = agent.run("t", "/bin/sh", "-c", 'echo http://a/1 > "$MUSTER_TASK_DIR/tracking-url"')
    assert ended["tracking_url"] == "http://a/1"
    assert agent.run("other", "true")["tracking_url"] == ""


def test_what_is_no_file_is_not_read(agent: Agent, tmp_path: Path) -> None:
    """The agent would wait for ever for the other end of a pipe, and read files for tasks that may not."""
    secret = tmp_path / "secret"
    secret.write_text("http://secret/")
    for number, command in enumerate((f"ln -s {secret}", "mkdir", "mkfifo")):
        ended = agent.run(f"t{number}", "/bin/sh", "-c", f'{command} "$MUSTER_TASK_DIR/tracking-url"')
        assert ended["tracking_url"] == ""


def test_a_long_text_is_cut(agent: Agent) -> None:
    ended = agent.run("t", "/bin/sh", "-c", 'head -c 100000 /dev/zero | tr "\\0" x > "$MUSTER_TASK_DIR/tracking-url"')
    assert len(ended["tracking_url"]) < 4000
