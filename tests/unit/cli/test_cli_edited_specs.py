"""The text that an editor shows of a spec."""

import pytest
import yaml

from muster.cli.editing.edited_specs import spec_text, with_comments, without_comments
from muster.client.errors import Problem

pytestmark = pytest.mark.fast


def test_texts_of_several_lines_are_blocks_and_nothing_is_lost() -> None:
    spec = {"name": "a", "command": "set -e\ntrain\n", "env": {"N": "3", "U": "é: x"}, "params": {"lr": 1e-05}}
    text = spec_text(spec)
    assert "command: |\n  set -e\n  train\n" in text
    assert yaml.safe_load(text) == spec


def test_problems_name_lines_of_the_whole_file() -> None:
    text = with_comments("name: a\npriority: huge\n", ["Job a is Held."], [Problem("priority", "no", line=2)])
    assert text == "# Job a is Held.\n#   line 4: priority: no\nname: a\npriority: huge\n"


def test_a_message_of_several_lines_stays_a_comment() -> None:
    assert with_comments("name: a\n", ["one\ntwo\x1b]0;x"]) == "# one two\\x1b]0;x\nname: a\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [("# a\n# b\n\nname: a\n# mine\n", "name: a\n# mine\n"), ("# only\n\n", ""), ("", ""), ("x: 1", "x: 1")],
)
def test_comments_at_the_top_are_left_out(text: str, left: str) -> None:
    assert without_comments(text) == left
