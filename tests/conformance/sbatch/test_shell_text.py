"""Which words of a script are commands of it, and whether it reads its own arguments."""

import pytest

from muster.wire.dialects.slurm.shell_text import positional, shell_text

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "script",
    [
        "CONFIG=$1",
        "SEED=${2:-0}",
        'python train.py "$@"',
        'x="$(basename "$1")"',
        "if [ $# -lt 1 ]; then exit 1; fi",
        "echo ${@:2} ${#}",
        "f() { echo $1; }\nf $1",
        "set -e\necho $1",
        'set -- "$@" more',
        "while getopts a: x; do :; done",
        "for x; do echo $x; done",
        "echo ${10}",
        "cat <<'END'\nx\nEND\necho $1",
    ],
)
def test_script_that_reads_its_arguments_is_known(script: str) -> None:
    text = shell_text(script + "\n")

    assert text is not None
    assert positional(text) is not None


@pytest.mark.parametrize(
    "script",
    [
        "awk '{print $1}' file",
        "x=$(awk '{print $1}' file); y=\"$(awk '{print $1}' file)\"; z=`cut -f1 | awk '{print $2}'`",
        'awk "{print \\$1}" file',
        "run() {\n  echo $1 ${2:-x} $#\n  if true; then { echo $1; }; fi\n}\nrun a",
        "function run { echo $@; }",
        "set -- $(scontrol show hostnames)\nfirst=$1",
        "cat <<END\n$1\nEND",
        "cat <<-'END' >x\n\tit's $1\n\tEND\ntrue",
        "# uses $1",
        "echo $$1 ${#array[@]} $0 $? ${array[@]} $((1<<3)) ${x#1}",
        "for x in 1 2; do echo $x; done",
        "cat <<< text",
    ],
)
def test_what_only_looks_like_an_argument_is_none(script: str) -> None:
    text = shell_text(script + "\n")

    assert text is not None
    assert positional(text) is None


def test_commands_are_told_from_text() -> None:
    text = shell_text('echo "; sbatch a"; x="$(squeue -h)" # sinfo\ncat <<END\nsbatch b\nEND\nsacct\n')

    assert text is not None
    assert [word for word in ("sbatch", "squeue", "sinfo", "sacct") if word in text.commands] == ["squeue", "sacct"]
    assert text.commands.count("\n") == 5


def test_nothing_is_certain_of_quotes_that_do_not_match() -> None:
    assert shell_text("echo 'a\n") is None
