"""How a command that was written as one text runs: by bash where the task runs, or by sh if there is no bash.

A failure in any part of a pipe is a failure of the command, so `python train.py | tee log` fails if train.py does. A
part that ends by SIGPIPE because nobody reads its output any more is no failure: `yes | head -1` succeeds. bash has no
option for that. Its pipefail counts SIGPIPE, and then `nvidia-smi | head -1 && python train.py` would at times not
train. Therefore

- a text whose pipes are read to their end runs with pipefail, and a SIGPIPE that decided its end is forgiven;
- a text with a reader that stops early, such as head or `grep -q`, runs without, so that no condition in it changes
  its meaning, and all parts of its last pipe are looked at when it has ended.

A SIGPIPE is not forgiven where the text itself acts on failures (`&&`, `||`, `set -e`): what comes after it was not
run, and the job must not be called successful.

Of a script whose interpreter is missing, shells say that the script is not found. Before a text that begins with the
path of a script, its first line is therefore looked at, which needs no process and leaves the text as it is.
"""

import re
import shlex

_NAME = "muster-shell"
"""The word before the text. It is the name of the shell that looks for bash."""
_PIPE = re.compile(r"(?<!\|)\|(?!\|)")
_STOPS_EARLY = re.compile(
    r"\|&?\s*(?:\{\s*|\(\s*|while\s+)?(?:head\b|read\b|less\b|more\b|[ef]?grep\s[^|]*-\w*[qm]|rg\s[^|]*-\w*[qm]"
    r"|sed\b[^|]*q|awk\b[^|]*exit)"
)
_ACTS_ON_FAILURE = re.compile(r"&&|\|\|")
_SAYS_ITSELF = re.compile(r"\|\||\bexit\s+0\b|\bpipefail\b")

_FIND_BASH = r"""
command -v bash >/dev/null 2>&1 && exec bash -c "$2$1"
[ -z "$2" ] || echo "muster: there is no bash here, so sh runs the command: only the last part of a pipe decides" >&2
exec /bin/sh -c "$1"
"""
_SCRIPT = re.compile(r"\s*(?P<path>[\w.+-]*/[\w./+-]*\.(?:sh|bash|py|pl|rb))(?=\s|$)")
_LOOK_AT_SCRIPT = r"""
muster_first=
[ -x {script} ] && [ -f {script} ] && IFS= read -r muster_first < {script}
case $muster_first in
'#!'*"$(printf '\r')") echo "muster: the script {script} has Windows line ends, so its interpreter is not found" >&2 ;;
'#!'*/*)
  muster_first=${{muster_first#'#!'}}
  set -f -- "$1" "$2" $muster_first
  [ -e "$3" ] || echo "muster: the interpreter of the script {script} is not there: $3" >&2 ;;
esac
"""
_PIPEFAIL = "set -o pipefail; "
_STATES = 'muster_ends=("$?" "${PIPESTATUS[@]}")'
_FORGIVE = (
    f"trap '{_STATES}; if [[ $muster_ends == 141 && $- != *e* && ${{muster_ends[@]: -1}} == 0 ]]; then "
    'for muster_end in "${muster_ends[@]:1}"; do [[ $muster_end == 0 || $muster_end == 141 ]] || exit 141; done; '
    "exit 0; fi' EXIT; "
)
_LOOK_BACK = (
    f"trap '{_STATES}; if [[ $muster_ends == 0 ]]; then muster_found=0; "
    'for muster_end in "${muster_ends[@]:1}"; do '
    "[[ $muster_end == 0 || $muster_end == 141 ]] || muster_found=$muster_end; done; "
    "[[ $muster_found == 0 ]] || exit $muster_found; fi' EXIT; "
)


def shell_command(text: str) -> tuple[str, ...]:
    """The argument list that runs the text. A text without a pipe is not touched, so that a shell can become its only
    command."""
    found = _SCRIPT.match(text)
    look = _LOOK_AT_SCRIPT.format(script=shlex.quote(found["path"])) if found else ""
    return ("/bin/sh", "-c", look + _FIND_BASH, _NAME, text, _before(text))


def text_of(argv: tuple[str, ...]) -> str:
    """The text that such an argument list runs, or nothing if it was written as a list."""
    return argv[argv.index(_NAME) + 1] if _NAME in argv[:-1] else ""


def is_pipe(text: str) -> bool:
    return bool(_PIPE.search(text))


def _before(text: str) -> str:
    """What bash does before the text, on the same line, so that its messages name the lines of the text."""
    if not is_pipe(text):
        return ""
    if _STOPS_EARLY.search(text):
        return ":; " if _SAYS_ITSELF.search(text) else _LOOK_BACK
    return _PIPEFAIL if _ACTS_ON_FAILURE.search(text) else _PIPEFAIL + _FORGIVE
