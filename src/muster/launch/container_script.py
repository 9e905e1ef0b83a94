"""The shell script on the node that runs a container with podman or docker, and makes one stream of its output.

Engines carry standard output and standard error to their client on two ways, so that they arrive in another order than
they were written in. The program therefore gets one stream for both, from a shell in its own container. Whether an
image has a shell, and what its entry point is, only the engine knows: a container that is created, and never started,
tells. An image without a shell keeps two streams.

A client that receives a signal while its container starts loses the exit code or the signal. So every client gets a
session of its own, and the agent signals the container's first process directly. Only the engine knows why a container
was killed, and only until it is removed, so the script asks and removes it without needing the agent.
"""

from dataclasses import dataclass

_SHELLS = frozenset(("sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/bash"))
_ONE_STREAM = 'exec "$@" 2>&1'
_SET_VARIABLES = '. "$0" && exec "$@" 2>&1'
_READY, _COMMAND, _ENTRY_POINT = "ready", "command", "entry-point"

# `set -C` overwrites nothing: the program could have created a link with the name of the file.
# Only the engine writes errors to the log: the shell would add "Killed" if the client dies before it. It writes that
# to where a command of its own has its errors, but not to where those of a subshell go.
# The words of an entry point are read one per line, each behind a colon. If one has several lines, it runs as it is.
_SCRIPT = """
trap told=yes TERM INT HUP
set -Cf
engine=$1 name=$2 state=$3 kind=$4 image=$5 before=$6 login=$7 passwd=$8 entry=$9
shift 9
exec 3>&2 2>/dev/null
run() ( exec setsid "$engine" run --name "$name" "$@" 2>&3 3>&- )
remove() { setsid "$engine" rm --force --volumes "$name" >/dev/null 2>&1; }
create() { setsid "$engine" create --name "$name" --network none "$@" >/dev/null 2>&1; }
has_shell() { setsid "$engine" cp "$name:/bin/sh" - >/dev/null 2>&1; }
entry_point() {
  setsid "$engine" container inspect --format '{{len .Args}}
:{{.Path}}{{range .Args}}
:{{.}}{{end}}' "$name" 2>/dev/null
}
run_command() {
  place=0
  for word do
    [ "$place" != 0 ] || set --
    [ "$place" != "$before" ] || set -- "$@" /bin/sh -c 'exec "$@" 2>&1' sh
    set -- "$@" "$word"
    place=$((place + 1))
  done
  run "$@"
}
create_with_arguments() { shift "$before" && create "$image" "$@"; }
run_entry_point() { # without its arguments, which the entry point that was found has behind it
  found=$(entry_point)
  place=0
  for word do
    [ "$place" != 0 ] || set --
    [ "$place" -ge "$before" ] || set -- "$@" "$word"
    place=$((place + 1))
  done
  IFS='
'
  count=-2
  for word in $found; do
    count=$((count + 1))
    case $count,$word in
      -1,*) wanted=$word; set -- --entrypoint '' "$@" /bin/sh -c 'exec "$@" 2>&1' sh ;;
      *,:*) set -- "$@" "${word#:}" ;;
      *) return 1 ;;
    esac
  done
  unset IFS
  remove
  [ "$count" = "$wanted" ] || return 1
  run "$@"
  code=$?
}
pull() { # docker has its contexts beside its config.json, so that another one would lose them
  setsid "$engine" image inspect "$image" >/dev/null 2>&1 && return
  host=${DOCKER_HOST:-$(setsid "$engine" context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null)}
  DOCKER_CONTEXT='' DOCKER_HOST=$host DOCKER_CONFIG=$login REGISTRY_AUTH_FILE=$login/config.json \
    setsid "$engine" pull --quiet "$image" >/dev/null 2>&3 3>&-
}
if [ -n "$login" ]; then
  pull
  code=$?
  rm -rf "$login"
  [ "$code" = 0 ] || exit 125
  [ -z "$told" ] || exit 143
fi
add_entry() {
  create --entrypoint '' "$image" sh
  { setsid "$engine" cp "$name:/etc/passwd" - 2>/dev/null | tar -xOf - 2>/dev/null; echo "$entry"; } >|"$passwd" &&
    chmod 644 "$passwd"
  remove
}
[ -z "$passwd" ] || add_entry
code=
case $kind in
  command)
    if create --entrypoint '' "$image" sh && has_shell; then
      remove
      [ -n "$told" ] || { run_command "$@"; code=$?; }
    fi ;;
  entry-point)
    if create_with_arguments "$@" && has_shell && [ -z "$told" ]; then run_entry_point "$@"; fi ;;
esac
[ "$kind" = ready ] || [ -n "$code" ] || remove
if [ -z "$code" ]; then
  [ -z "$told" ] || exit 143
  run "$@"
  code=$?
fi
[ "$code" = 0 ] ||
  setsid "$engine" container inspect --format '{{.State.OOMKilled}}' "$name" 2>/dev/null >"$state"
remove
exit "$code"
"""
# The client follows the size of the terminal, so that must be its controlling terminal. The shell does not take it.
_AT_TERMINAL = _SCRIPT.replace('run() ( exec setsid "$engine"', 'run() ( exec setsid -c "$engine"')


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """What a container runs."""

    program: str
    """The engine's client."""
    name: str
    state_file: str
    options: tuple[str, ...]
    image: str
    words: tuple[str, ...]
    """The command, or the arguments of the image's own entry point. Empty if those are the image's own, too."""
    is_command: bool = True
    variables: str = ""
    """A script to be read first, which sets variables; empty if there is none."""
    at_terminal: bool = False
    login: str = ""
    """The folder with a config.json for the registry of the image; empty if there is none. It is removed as soon as the
    image is there, so that the program never sees it."""
    passwd: tuple[str, str] = ("", "")
    """The copy of the image's /etc/passwd that the container sees, and the entry that it has besides."""


def script_of(run: ContainerRun) -> tuple[str, ...]:
    """The command that runs the container, waits for its end and removes it."""
    kind, argv = _joined(run)
    words = _words(run, argv)
    before = str(len(words) - len(argv))
    arguments = (run.program, run.name, run.state_file, kind, run.image, before, run.login, *run.passwd)
    return ("/bin/sh", "-c", _AT_TERMINAL if run.at_terminal else _SCRIPT, "muster-container", *arguments, *words)


def command_of(run: ContainerRun) -> tuple[str, ...]:
    """The command of the engine's client alone, as a person would type it."""
    return (run.program, "run", "--name", run.name, *_words(run, _joined(run)[1]))


def _joined(run: ContainerRun) -> tuple[str, tuple[str, ...]]:
    """The command, with one stream if it is certain that there is a shell. A terminal is one stream anyway."""
    if run.variables:
        return _READY, ("sh", "-c", _SET_VARIABLES, run.variables, *run.words)
    if run.at_terminal:
        return _READY, run.words
    if not run.is_command:
        return _ENTRY_POINT, run.words
    if run.words[0] in _SHELLS:
        return _READY, (run.words[0], "-c", _ONE_STREAM, run.words[0], *run.words)
    return _COMMAND, run.words


def _words(run: ContainerRun, argv: tuple[str, ...]) -> tuple[str, ...]:
    return (*run.options, *(("--entrypoint", "") if run.is_command else ()), run.image, *argv)
