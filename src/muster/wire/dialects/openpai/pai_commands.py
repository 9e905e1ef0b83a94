"""The command of an OpenPAI task: bash, which sets PAI_* and runs the commands with what plugins put around them.

Everything that comes from the file is an argument of that bash and not a part of its script, so that nothing in it can
end a quotation, whatever is filled in later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster.launch.ssh_script import FOLDER, PORT_VARIABLE
from muster.wire.dialects.openpai.pai_secrets import fill_code

_NAME = "openpai"
"""What bash calls itself in its messages."""
STRICT = "set -o errexit -o nounset -o pipefail"

# Credentials in an address must not be among the arguments of git, which everybody on the node can read.
_CLONE = r"""_pai_clone() {
  local dir=$1 uri=$2 login kept code=0; shift 2
  case $uri in
  http*://*@*) ;;
  *) git clone "$@" -- "$uri" "$dir"; return ;;
  esac
  login=${uri#*://}; login=${login%%@*}
  case $login in *:*) ;; *) login=$login: ;; esac
  kept=$(umask 077; mktemp)
  printf '%s://%s@%s\n' "${uri%%://*}" "$login" "${uri#*@}" > "$kept"
  git -c credential.helper= -c "credential.helper=store --file='$kept'" clone "$@" -- \
    "${uri%%://*}://${uri#*@}" "$dir" || code=$?
  rm -f "$kept"
  return "$code"
}"""

# Waits until every task of the job can be reached by SSH, for as many minutes as it is given.
_BARRIER = r"""_pai_barrier() {
  local name end=$((SECONDS + $1 * 60))
  [ -n "${PORT_VARIABLE-}" ] || return 0
  for name in ${PAI_TASK_ROLE_INSTANCES//,/ }; do
    until ssh -o BatchMode=yes -o ConnectTimeout=5 "${name/:/-}" true < /dev/null; do
      [ "$SECONDS" -lt "$end" ] || { echo "openpai: ${name/:/-} cannot be reached by SSH" >&2; exit 249; }
      sleep 1
    done
  done
}""".replace("PORT_VARIABLE", PORT_VARIABLE)

# Sessions that peers open by SSH have the variables that are known when the server starts. PAI_* are among them there.
_SESSIONS = (
    f"_i=${{MUSTER_TASK_DIR-}}/{FOLDER}/environment",
    """[ ! -w "$_i" ] || { (umask 077; /bin/sh -c 'export -p' > "$_i.new") && mv -f "$_i.new" "$_i"; }; unset _i""",
)


@dataclass(frozen=True, slots=True)
class Lines:
    """Commands of a plugin. They run in a shell of their own."""

    text: str
    ignores_failure: bool = False


@dataclass(frozen=True, slots=True)
class Clone:
    """A git repository that is cloned before the commands run."""

    uri: str
    folder: str
    options: tuple[str, ...] = ()
    ignores_failure: bool = False


@dataclass(frozen=True, slots=True)
class Barrier:
    """A wait until the tasks can reach each other by SSH."""

    minutes: int


Step = Lines | Clone | Barrier


@dataclass(frozen=True, slots=True)
class Around:
    """What plugins do before the commands, and after those have succeeded."""

    before: Sequence[Step] = ()
    after: Sequence[Step] = field(default=())


def task_command(
    preamble: Sequence[str], commands: str, options: str, around: Around, secrets: Mapping[str, str]
) -> list[str]:
    """The argument list. `options` are the shell's while the commands run, and `secrets` the references in all texts
    with the variable of each."""
    words = [commands]
    before = [_code(step, words) for step in around.before]
    after = [_code(step, words) for step in around.after]
    steps = (*around.before, *around.after)
    script = [
        *preamble,
        *([_CLONE] if any(isinstance(step, Clone) for step in steps) else []),
        *([_BARRIER] if any(isinstance(step, Barrier) for step in steps) else []),
        '_pai=("$@"); set --',
        *fill_code(secrets),
        *_SESSIONS,
        *(["set -o errexit", *before] if before else []),
        *([options] if options else []),
        *(['(eval "${_pai[0]}")', "set +o nounset +o pipefail -o errexit", *after] if after else ['eval "${_pai[0]}"']),
    ]
    return ["bash", "-c", "\n".join(script), _NAME, *words]


def _code(step: Step, words: list[str]) -> str:
    match step:
        case Lines(text, ignores_failure):
            text = _word(text, words)
            return f"(set +o errexit; eval {text}; true)" if ignores_failure else f"(eval {text})"
        case Clone(uri, folder, options, ignores_failure):
            given = " ".join(_word(word, words) for word in (folder, uri, *options))
            return f"_pai_clone {given}" + (" || true" if ignores_failure else "")
        case Barrier(minutes):
            return f"_pai_barrier {minutes}"


def _word(text: str, words: list[str]) -> str:
    words.append(text)
    return f'"${{_pai[{len(words) - 1}]}}"'
