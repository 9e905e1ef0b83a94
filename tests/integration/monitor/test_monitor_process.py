"""A real monitor, a real server that is killed and paused, and a real mail server: who is told what, and how often."""

import os
import signal
from pathlib import Path
from typing import Any

from tests.integration.monitor.watchers import Watcher, watching
from tests.parts.mail_server import MailServer
from tests.parts.server import MusterServer, polls


def settings(mails: MailServer, receiver: MusterServer, token_file: Path, **more: Any) -> dict[str, Any]:
    return {
        "receivers": [{"url": receiver.url, "name": "gpu1"}],
        "warning_maillist": ["li@example.org", "bo@example.org"],
        "smtp": {"host": "127.0.0.1", "port": mails.port, "from": "monitor@example.org"},
        "tokenFile": str(token_file),
        **more,
    }


def test_a_server_that_is_killed_and_comes_back_makes_two_mails(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    with watching(tmp_path / "monitor", settings(mails, receiver, token_file)) as watcher:
        watcher.wait_until_down("gpu1", False)
        watcher.wait_for_rounds(2)
        receiver.kill()
        watcher.wait_until_down("gpu1", True)
        watcher.wait_for_rounds(2)
        receiver.start()
        watcher.wait_until_down("gpu1", False)
        watcher.wait_for_rounds(2)
        failure, recovery = mails.wait_for(2)
    assert len(mails.mails) == 2
    assert failure.recipients == ("li@example.org", "bo@example.org")
    assert failure.subject == "[Muster] gpu1 is down"
    assert "the connection was refused" in failure.text
    assert recovery.subject.startswith("[Muster] gpu1 works again, after ")


def test_a_server_that_is_paused_is_told_as_one_that_does_not_answer(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    with watching(tmp_path / "monitor", settings(mails, receiver, token_file, interval="1s", timeout="1s")) as watcher:
        watcher.wait_until_down("gpu1", False)
        os.kill(receiver.pid, signal.SIGSTOP)
        try:
            watcher.wait_until_down("gpu1", True)
        finally:
            os.kill(receiver.pid, signal.SIGCONT)
        watcher.wait_until_down("gpu1", False)
        failure, recovery, *_ = mails.wait_for(2)  # a busy machine may be too slow for this timeout once more
    assert "it did not answer within 1 s while" in failure.text
    assert "gpu1 works again" in recovery.subject


def test_a_monitor_that_is_killed_neither_repeats_nor_loses_a_notice(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    with watching(tmp_path / "monitor", settings(mails, receiver, token_file)) as watcher:
        watcher.wait_until_down("gpu1", False)
        receiver.kill()
        watcher.wait_until_down("gpu1", True)
        mails.wait_for(1)
        for _ in polls(30):
            if not watcher.state["pending"]:
                break
        watcher.end(signal.SIGKILL)
        watcher.start()
        watcher.wait_for_rounds(2)
        assert len(mails.mails) == 1
        watcher.end(signal.SIGKILL)
        receiver.start()
        watcher.start()
        watcher.wait_until_down("gpu1", False)
        mails.wait_for(2)
        watcher.wait_for_rounds(1)
    assert [mail.subject.partition(",")[0] for mail in mails.mails] == [
        "[Muster] gpu1 is down",
        "[Muster] gpu1 works again",
    ]


def test_a_notice_waits_for_a_mail_server_also_over_a_kill(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    mails.answer = "451 try again later"
    with watching(tmp_path / "monitor", settings(mails, receiver, token_file)) as watcher:
        watcher.wait_until_down("gpu1", False)
        receiver.kill()
        for _ in polls(60):
            if "451 try again later" in watcher.log:
                break
        watcher.end(signal.SIGKILL)
        mails.answer = None
        watcher.start()
        (mail,) = mails.wait_for(1)
        watcher.wait_for_rounds(2)
    assert len(mails.mails) == 1
    assert mail.message["X-Muster-Notice"] in watcher.log


def test_several_receivers_that_fail_at_once_make_one_mail(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    names = [{"url": receiver.url, "name": f"gpu{number}"} for number in (1, 2, 3)]
    more = settings(mails, receiver, token_file, receivers=names, damping={"failures": 2, "successes": 1})
    with watching(tmp_path / "monitor", more) as watcher:
        watcher.wait_for_rounds(2)
        assert not any(one["is_down"] for one in watcher.state["receivers"].values())
    receiver.kill()
    with watching(tmp_path / "monitor", more) as watcher:
        (mail,) = mails.wait_for(1)
        watcher.wait_for_rounds(2)
    assert [one.subject for one in mails.mails] == ["[Muster] 3 of 3 receivers are down"]
    assert all(f"gpu{number} (" in mail.text for number in (1, 2, 3))


def test_checking_says_what_is_wrong_and_sends_one_test_notice(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    watcher = Watcher(tmp_path / "monitor", settings(mails, receiver, token_file, interval="20s", timeout="20s"))
    done = watcher.run("check", "--send-test")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "the file is right: receivers: 1, ways to send notices: 1",
        "gpu1: is alive, ready and writes",
        "mail: sent a test notice",
    ]
    (mail,) = mails.mails
    assert "This is a test" in mail.text

    token_file.write_text("mst_wrong")
    done = watcher.run("check")
    assert done.returncode == 1
    assert "gpu1: it does not accept the monitor's token (401" in done.stdout
    assert "mst_wrong" not in done.stdout


def test_the_status_says_whether_the_monitor_is_at_work(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    watcher = Watcher(tmp_path / "monitor", settings(mails, receiver, token_file))
    missing = watcher.run("status")
    assert missing.returncode == 1
    assert "no monitor has completed a round" in missing.stderr
    watcher.start()
    try:
        watcher.wait_for_rounds(0)
        second = watcher.run()
        assert (second.returncode, "another monitor uses" in second.stderr) == (1, True)
        done = watcher.run("status")
        assert "gpu1: up" in done.stdout
    finally:
        assert watcher.end() == 0
    watcher.start()
    watcher.wait_for_rounds(0)
    assert watcher.end(signal.SIGINT) == 130
    assert "Traceback" not in watcher.log
    for _ in polls(30):
        done = watcher.run("status", "-o", "json")
        if done.returncode == 1:
            break
    assert '"isLate": true' in done.stdout


def test_no_secret_is_in_arguments_log_or_state(
    tmp_path: Path, mails: MailServer, receiver: MusterServer, token_file: Path
) -> None:
    hook = tmp_path / "hook"
    hook.write_text("http://127.0.0.1:9/hook/s3cretkey")
    hook.chmod(0o600)
    more = settings(mails, receiver, token_file, notices=[{"kind": "feishu", "urlFile": str(hook)}])
    with watching(tmp_path / "monitor", more) as watcher:
        watcher.wait_until_down("gpu1", False)
        receiver.kill()
        mails.wait_for(1)
        for _ in polls(60):
            if "feishu" in watcher.log:
                break
        assert watcher._process is not None
        arguments = Path(f"/proc/{watcher._process.pid}/cmdline").read_text()
        everything = arguments + watcher.log + watcher.state_file.read_text() + mails.mails[0].text
    assert "refused the connection" in watcher.log
    assert token_file.read_text() not in everything
    assert "s3cretkey" not in everything
