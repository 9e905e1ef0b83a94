"""How commands are shown to people."""

import shlex

import pytest

from muster.cli.shown_commands import shown

pytestmark = pytest.mark.fast


def test_words_are_shown_as_a_shell_takes_them() -> None:
    argv = ["bash", "-c", "echo 'two words'\necho done"]

    assert shlex.split(shown(argv)) == argv


def test_program_among_the_words_is_cut_and_its_length_is_told() -> None:
    said = shown(["python", "-c", "\n".join(f"line {number}" for number in range(100))])

    assert said.startswith("python -c 'line 0\nline 1\nline 2'…")
    assert said.endswith("(97 more lines; -o yaml shows them)")
