"""Control characters in other people's text never reach a terminal; colours do."""

import io
import json

import click
import pytest
from click.testing import CliRunner

from muster.cli.failures import Failure
from muster.cli.file_progress import FileLine
from muster.cli.logs.printing import LogPrinter
from muster.cli.tables.output import print_document, print_pairs
from muster.cli.terminal import safe, safe_log
from muster.client.files import Progress
from muster.client.handles import LogChunk

pytestmark = pytest.mark.fast
CLIPBOARD = "\x1b]52;c;aGk=\x07"
TITLE = "\x1b]0;owned\x07"
ATTACKS = {
    "clipboard": CLIPBOARD,
    "title": TITLE,
    "cursor": "\x1b[2J\x1b[1;1H",
    "answer": "\x1b[6n",
    "reset": "\x1bc",
    "c1": "\x9b2J",
    "bell": "\x07",
    "delete": "\x7f",
    "reversed": "\u202egnp.exe",
    "dcs": "\x1bP$qm\x1b\\",
}
RED = "\x1b[1;31mred\x1b[0m"
REDRAWS = "\r\x1b[J"  # what the printer itself writes, to draw an unfinished line again


def obeyed(text: str) -> list[str]:
    """The control characters that are left apart from colours and line ends."""
    plain = text.replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    return [letter for letter in plain if not letter.isprintable() and letter not in "\n\t"]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_control_characters_are_shown_and_not_obeyed(attack: str) -> None:
    for clean in (safe, safe_log):
        found = clean(f"before {attack} {RED} after\n")
        assert obeyed(found) == []
        assert RED in found
        assert found.startswith("before \\")


def test_a_progress_bar_in_a_log_still_works() -> None:
    assert safe_log("10%\r20%\b\n") == "10%\r20%\b\n"
    assert obeyed(safe("done\rERROR")) == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("prefixed", [False, True])
def test_a_log_on_a_terminal_has_colours_and_nothing_else(prefixed: bool) -> None:
    out = Terminal()
    chunk = LogChunk("job-worker-0", 0, f"{CLIPBOARD}{RED}\nrest{TITLE}")
    LogPrinter(out, "job", prefixed=prefixed, coloured=False).print([chunk])
    assert obeyed(out.getvalue().replace(REDRAWS, "")) == []
    assert RED in out.getvalue()


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_between_the_frames_of_a_progress_bar_is_not_obeyed(attack: str) -> None:
    out = Terminal()
    frames = [LogChunk("job-worker-0", place, letter) for place, letter in enumerate(f"10%\r{attack}\x1b[K{RED}\n")]
    LogPrinter(out, "job", prefixed=True, coloured=False).print(frames)
    assert obeyed(out.getvalue().replace(REDRAWS, "")) == []


def test_a_log_in_a_file_is_unchanged() -> None:
    out = io.StringIO()
    LogPrinter(out, "job", prefixed=False, coloured=False).print([LogChunk("job-worker-0", 0, CLIPBOARD)])
    assert out.getvalue() == CLIPBOARD


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_results_and_errors_of_commands_are_safe(attack: str) -> None:
    @click.command()
    def shows() -> None:
        print_pairs([("Reason", attack)])
        print_document({"reason": attack}, "yaml")
        raise Failure(attack, hint=attack, problems=(attack,))

    done = CliRunner().invoke(shows)
    assert obeyed(done.output) == []


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_json_is_safe_and_the_same_document(attack: str) -> None:
    @click.command()
    def shows() -> None:
        print_document({"reason": attack}, "json")

    done = CliRunner().invoke(shows)
    assert obeyed(done.output) == []
    assert json.loads(done.output) == {"reason": attack}


def test_the_progress_of_a_transfer_still_redraws_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter(range(0, 1000, 10))
    line = FileLine(f"data{TITLE}", True, lambda: float(next(times)))
    line.remote_progress(Progress(3, 1000))
    line.clear()
    drawn = capsys.readouterr().err
    assert drawn.startswith("\rdata\\x1b")
    assert obeyed(drawn.replace("\r", "")) == []


@pytest.mark.parametrize(
    "value", ["x\nState:  Succeeded\nOwner:  root", "a\rOwner: root", "a\u2028b", "a\x85b", "a\tb"]
)
def test_a_value_in_a_description_begins_no_line_of_its_own(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_pairs([("Params", f"note={value}"), ("Labels", {"a": value}), ("State", "\x1b[32mRunning\x1b[0m")])
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed] == ["Params", "Labels", "State"]
    assert "Running" in printed[2]
    assert all(letter.isprintable() for letter in printed[0])
