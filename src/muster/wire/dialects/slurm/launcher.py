"""The command that runs a batch script: it gives the script what Slurm would, and the script runs once.

The script is written to a file, as Slurm does, so that its own interpreter runs it. What a script prints goes to the
log of the task, and to the files of `--output` and `--error`, too. On the nodes after the first, the task waits for
what `srun` asks it to start.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muster.wire.dialects.kubernetes.task_scripts import own_folder

STEP_PROGRAM = (Path(__file__).parent / "step_program.py").read_text(encoding="utf-8")
KEY = "srun-key"
"""The secret that the tasks of a job on several nodes share."""
ARGUMENTS = "SCRIPT_ARGUMENTS"
"""The variable with the arguments of the script, quoted for a shell."""

_BEGIN = f"""\
# Gives a batch script what Slurm would, and runs it once, on the first node.
{own_folder("slurm")}
mkdir -p "$slurm/bin" && printf '%s' "$1" >"$slurm/slurm_script" && chmod 700 "$slurm/slurm_script" || exit 1
SLURM_JOB_ID=$(printf '%s' "$MUSTER_JOB_ID" | cksum | cut -d' ' -f1)
[ "$MUSTER_ATTEMPT" = 1 ] || export SLURM_RESTART_COUNT=$((MUSTER_ATTEMPT - 1))
"""
# No shell stands between the script and srun: dash would drop the functions that bash exports.
_COMMANDS = """\
printf '%s' "$2" >"$slurm/steps.py" || exit 1
for name in srun scontrol; do
  {
    printf '#!/usr/bin/env python3\\nimport runpy, sys\\nsys.argv.insert(1, "%s")\\n' "$name"
    echo 'runpy.run_path(__file__.rsplit("/", 2)[0] + "/steps.py", run_name="__main__")'
  } >"$slurm/bin/$name" && chmod 700 "$slurm/bin/$name" || exit 1
done
PATH=$slurm/bin:$PATH
export PATH
"""
# A login shell sets PATH anew, so bash finds the commands as functions, too. `env` gives them, because dash would not.
_FUNCTIONS = """\
set -- "BASH_FUNC_srun%%=() { \\"$slurm/bin/srun\\" \\"\\$@\\"; }" \\
  "BASH_FUNC_scontrol%%=() { \\"$slurm/bin/scontrol\\" \\"\\$@\\"; }"
"""
_NO_FUNCTIONS = "set --\n"
_SERVE = """\
[ "$MUSTER_ROLE_INDEX" = 0 ] || exec python3 "$slurm/steps.py" serve
"""
_TEE = """\
{file}={pattern}
mkdir -p "$(dirname "${file}")" && : {redirect}"${file}" || {{
  echo "muster: --{option}: ${file} cannot be written, so the output is in the log alone" >&2
  {file}=/dev/null
}}
rm -f "$slurm/{option}" && mkfifo "$slurm/{option}" || exit 1
(trap '' TERM INT HUP USR1 USR2; exec tee -a "${file}" <"$slurm/{option}"{to}) &
copying="$copying $!"
"""
# What the script has left running keeps its output open, and ends with the task.
_COPIED = """\
waited=0
while kill -0 $copying 2>/dev/null && [ $waited -lt 20 ]; do
  sleep 0.1
  waited=$((waited + 1))
done
kill -s KILL $copying 2>/dev/null
"""
_TIMER = """\
(
  sleep {after_s} &
  sleeping=$!
  trap 'kill $sleeping; exit' TERM
  wait $sleeping
  {act}
) &
timer=$!
"""
_SIGNAL_SCRIPT = 'kill -s {signal} "$(cat "$slurm/pid")"'
_SIGNAL_STEPS = 'for step in "$slurm"/running/*; do kill -s {signal} "${{step##*/}}"; done 2>/dev/null'
"""srun passes the signal to its tasks."""
_RUN = """\
eval "set -- \\"\\$@\\" \\"\\$slurm/slurm_script\\" ${{SCRIPT_ARGUMENTS-}}" || exit 1
unset SCRIPT_ARGUMENTS
trap : TERM INT HUP USR1 USR2
sh -c 'echo $$ >"$1/pid"; shift; exec env "$@"' sh "$slurm" "$@"{input}{output}{error}
code=$?
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """What the command of a batch script is made of."""

    nodes: int
    variables: Mapping[str, str]
    """Values that the translation knows, and shell words for those that only the task knows."""
    has_commands: bool
    """Whether the script uses `srun` or `scontrol`."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The patterns of `output`, `error` and `input`."""
    appends: bool = False
    chdir: str = ""
    signal: tuple[str, bool, int] | None = None
    """The signal, whether the script itself gets it, and after how many seconds."""


def launcher(launch: Launch) -> str:
    """The text of a shell program. Its first argument is the script and its second one the step program."""
    parts = [_BEGIN, _exports(launch)]
    if launch.has_commands or launch.nodes > 1:
        parts.append(_COMMANDS)
    if launch.nodes > 1:
        parts.append(_SERVE)
    parts.append(_FUNCTIONS if launch.has_commands else _NO_FUNCTIONS)
    if launch.chdir:
        parts.append(f"cd {_pattern(launch.chdir)} || exit 1\n")
    outputs = {name: pattern for name, pattern in launch.files.items() if name != "input"}
    for name, pattern in outputs.items():
        redirect, to = (">>" if launch.appends else ">"), (" >&2" if name == "error" else "")
        parts.append(_TEE.format(file=f"{name}_file", pattern=_pattern(pattern), option=name, redirect=redirect, to=to))
    if launch.signal is not None:
        number, to_script, after_s = launch.signal
        act = (_SIGNAL_SCRIPT if to_script else _SIGNAL_STEPS).format(signal=number)
        parts.append(_TIMER.format(after_s=after_s, act=act))
    parts.append(_run(launch, outputs))
    return "".join(parts)


def _run(launch: Launch, outputs: Mapping[str, str]) -> str:
    given = f" <{_pattern(launch.files['input'])}" if "input" in launch.files else ""
    output = ' >"$slurm/output"' if "output" in outputs else ""
    error = ' 2>"$slurm/error"' if "error" in outputs else " 2>&1" if output else ""
    lines = [_RUN.format(input=given, output=output, error=error)]
    if launch.signal is not None:
        lines.append("kill $timer 2>/dev/null\n")
    if outputs:
        lines.append(_COPIED)
    if launch.nodes > 1:
        lines.append('python3 "$slurm/steps.py" end\n')
    return "".join([*lines, "exit $code\n"])


def _exports(launch: Launch) -> str:
    lines = [f"{name}={value}\n" for name, value in launch.variables.items()]
    return "".join([*lines, f"export SLURM_JOB_ID {' '.join(launch.variables)}\n"])


_SYMBOLS = {
    "j": "$SLURM_JOB_ID",
    "J": "$SLURM_JOB_ID",
    "A": "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}",
    "a": "${SLURM_ARRAY_TASK_ID:-4294967294}",
    "b": "$(( ${SLURM_ARRAY_TASK_ID:-4294967294} % 10 ))",
    "x": "$SLURM_JOB_NAME",
    "u": "$USER",
    "N": "$SLURMD_NODENAME",
    "n": "0",
    "s": "batch",
    "t": "0",
}


def _pattern(text: str) -> str:
    """A file name with `%j` and the like as a word of the shell."""
    word, rest = "", text
    while rest:
        before, percent, after = rest.partition("%")
        word += shlex.quote(before) if before else ""
        digits = len(after) - len(after.lstrip("0123456789"))
        letter = after[digits : digits + 1]
        if not percent:
            break
        if letter in _SYMBOLS and letter:
            value = _SYMBOLS[letter]
            word += (
                f'"$(printf %0{min(int(after[:digits][:3]), 10)}d "{value}")"'
                if digits and letter in "jJAant"
                else f'"{value}"'
            )
        else:
            word += "%" if letter == "%" else shlex.quote(f"%{after[: digits + 1]}")
        rest = after[digits + 1 :]
    return word or "''"


def collected(pattern: str) -> str:
    """The same file name as a pattern of `outputs`."""
    found, rest = "", pattern
    while rest:
        before, percent, after = rest.partition("%")
        found += before
        if not percent:
            break
        digits = len(after) - len(after.lstrip("0123456789"))
        found += "%" if after[digits : digits + 1] == "%" else "*"
        rest = after[digits + 1 :]
    return found
