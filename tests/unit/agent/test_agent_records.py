import os
from pathlib import Path

import pytest

from muster.agent.system.processes import Identity, boot_id, is_alive, parse_stat, read_stat
from muster.agent.tasks import records

pytestmark = pytest.mark.fast

STAT = (
    b"4242 (my (evil) name) 1) S 17 4242 4242 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 1 0 987654 2641920 210 "
    b"18446744073709551615 0 0\n"
)


def test_stat_line_is_read_behind_the_last_parenthesis() -> None:
    stat = parse_stat(STAT)
    assert (stat.pid, stat.state, stat.parent, stat.session) == (4242, "S", 17, 4242)
    assert (stat.cpu_ticks, stat.start_ticks, stat.rss_pages) == (110, 987654, 210)


def test_process_is_alive_only_with_its_own_start_and_boot() -> None:
    stat = read_stat(os.getpid())
    assert stat is not None
    boot = boot_id()
    assert is_alive(Identity(stat.pid, stat.start_ticks, boot), boot)
    assert not is_alive(Identity(stat.pid, stat.start_ticks + 1, boot), boot)
    assert not is_alive(Identity(stat.pid, stat.start_ticks, "another boot"), boot)


@pytest.mark.parametrize(
    "text", ["", "12 34 boot", "12 34", "12 34\n", "12 x boot\n", "1 2 3 4\n", "boot 1 2 ", "boot 1 2 3 x\n"]
)
def test_start_record_that_is_cut_or_wrong_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "started").write_text(text)
    assert records.read_started(str(tmp_path)) is None


def test_start_record_names_the_command_and_the_shim(tmp_path: Path) -> None:
    shim, command = Identity(56, 78, "boot"), Identity(12, 34, "boot")
    claim = records.claim(str(tmp_path), shim)
    assert records.is_claimed(str(tmp_path))
    assert records.read_started(str(tmp_path)) is None
    records.complete(claim, command)
    os.close(claim)
    record = records.read_started(str(tmp_path))
    assert record == records.StartRecord(command, shim, (tmp_path / "started").stat().st_mtime)


def test_task_can_be_claimed_once(tmp_path: Path) -> None:
    os.close(records.claim(str(tmp_path), Identity(56, 78, "boot")))
    assert not records.claim_for_stop(str(tmp_path))
    with pytest.raises(FileExistsError):
        records.claim(str(tmp_path), Identity(57, 79, "boot"))


def test_start_record_of_an_agent_before_shims_names_its_supervisor(tmp_path: Path) -> None:
    (tmp_path / "started").write_text("12 34 boot\n")
    record = records.read_started(str(tmp_path))
    assert record == records.StartRecord(Identity(12, 34, "boot"), None, (tmp_path / "started").stat().st_mtime)


def test_stop_record_says_when_the_grace_ends(tmp_path: Path) -> None:
    assert records.read_stop(str(tmp_path)) is None
    records.record_stop(str(tmp_path), 12.5)
    assert records.read_stop(str(tmp_path)) == 12.5


def test_claim_for_stop_succeeds_once_and_reads_as_no_process(tmp_path: Path) -> None:
    assert records.claim_for_stop(str(tmp_path))
    assert not records.claim_for_stop(str(tmp_path))
    record = records.read_started(str(tmp_path))
    assert record is not None
    assert record.leader is None


@pytest.mark.parametrize(("text", "code"), [("0\n", 0), ("137\n", 137), ("13", None), ("", None), ("x\n", None)])
def test_exit_record_counts_only_with_its_newline(tmp_path: Path, text: str, code: int | None) -> None:
    (tmp_path / "exit").write_text(text)
    record = records.read_exit(str(tmp_path))
    assert (record.code if record else None) == code


def test_existing_exit_record_is_not_overwritten(tmp_path: Path) -> None:
    records.record_exit(str(tmp_path), 3)
    records.record_exit(str(tmp_path), 137)
    assert (tmp_path / "exit").read_text() == "3\n"


@pytest.mark.parametrize(("code", "number"), [(0, None), (128, None), (129, 1), (137, 9), (192, 64), (193, None)])
def test_signal_is_read_from_the_code(code: int, number: int | None) -> None:
    assert records.signal_of(code) == number
