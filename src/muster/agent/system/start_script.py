"""The end of a shell script that becomes a command, and says why if the command cannot be started.

The shell's own words are few: dash calls a script "not found" if only its interpreter is. The explanation runs in the
shell that has failed, so it sees what the task sees, and costs nothing where the command starts.
"""

from __future__ import annotations

EXEC = r"""
_muster_explain() {
  case $1 in
  */*) _file=$1 ;;
  *) _file=$(command -v -- "$1") || { echo "muster: the command $1 is in no folder of the PATH $PATH"; return; } ;;
  esac
  if [ -d "$_file" ]; then echo "muster: $_file is a folder, not a program"
  elif [ ! -e "$_file" ]; then echo "muster: there is no file $_file to run in $PWD"
  elif [ ! -x "$_file" ]; then echo "muster: the file $_file is not executable"
  elif [ "$(head -c 2 "$_file" | tr -d '\0')" = '#!' ]; then
    _first=$(head -c 300 "$_file" | head -n 1)
    case $_first in
    *"$(printf '\r')") echo "muster: the script $_file has Windows line ends, so its interpreter is not found" ;;
    *) echo "muster: the interpreter of the script $_file is not there: ${_first#??}" ;;
    esac
  fi
}
trap '_muster_explain "$@" >&2' EXIT
exec "$@"
"""
