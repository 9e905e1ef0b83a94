"""The program that says what the processes of its task stand at. It runs in the task, with the rights of the task, and
needs a POSIX shell only. ADR 26 says why it does what it does.

It prints no variables, and of a command line only the module or the script that an interpreter runs, and a script only
if it is a file: all else may be a secret, even the title, which processes can change. It sends a signal to no process
that has not asked for it by `muster.allow_stacks`.
"""

SIGNAL = 50
FILE = "muster-stacks"
EXEC_MARK = "MUSTER_EXEC"
"""These three are the agent's, which the engine does not know."""
_NIBBLE, _BIT = divmod(SIGNAL - 1, 4)
_DIGITS = "".join(digit for digit in "0123456789abcdef" if int(digit, 16) >> _BIT & 1)
"""The digits of the mask of caught signals that have ours."""

_SCRIPT = r"""
own=${MUSTER_TASK_UID:-}
[ -n "$own" ] || { echo "the task has no MUSTER_TASK_UID, so that its processes cannot be told from others"; exit 3; }

clean() { LC_ALL=C tr '\000-\011\013-\037\177' '?' | LC_ALL=C cut -c 1-300; }

program_of() {
  path=$(readlink "/proc/$1/exe" 2>/dev/null)
  path=${path% (deleted)}; named=${path##*/}
  [ -n "$named" ] || IFS= read -r named < "/proc/$1/comm"
  printf '%s' "$named"
}

is_file_of() {
  case $2 in /*) [ -f "/proc/$1/root$2" ] ;; *) [ -f "/proc/$1/cwd/$2" ] ;; esac
}

script_of() {
  while IFS= read -r word; do
    case "$2 $word" in
      py*" -m")
        IFS= read -r word
        case $word in ''|.*|*[!A-Za-z0-9_.]*) ;; *) printf ' -m %s' "$word" ;; esac
        return ;;
      py*" -"[uEIsSBOqvx]|py*" -OO"|*"sh -"[euxvl]|*"sh -eu"|*"sh -ex"|*"sh -eux"|perl*" -w"|ruby*" -w") ;;
      *" -"*|*" ") return ;;
      *) if is_file_of "$1" "$word"; then printf ' %s' "$word"; fi; return ;;
    esac
  done
}

started_as() {
  program=$(program_of "$1")
  case $program in
    python*|pypy*|*sh|perl*|ruby*|node|nodejs|Rscript)
      script=$(tr '\n\000' '?\n' < "/proc/$1/cmdline" 2>/dev/null | {
        IFS= read -r title; script_of "$1" "$program"
      }) ;;
    *) script= ;;
  esac
  printf '%s%s\n' "$program" "$script" | clean
}

call_of() {
  [ "$(uname -m)" = x86_64 ] || { echo "system call $1"; return; }
  case $1 in
    0) echo read ;; 1) echo write ;; 7) echo poll ;; 17) echo pread64 ;; 19) echo readv ;; 23) echo select ;;
    34) echo pause ;; 35) echo nanosleep ;; 42) echo connect ;; 43) echo accept ;; 45) echo recvfrom ;;
    47) echo recvmsg ;; 61) echo wait4 ;; 72) echo fcntl ;; 73) echo flock ;; 128) echo rt_sigtimedwait ;;
    130) echo rt_sigsuspend ;; 202) echo futex ;; 230) echo clock_nanosleep ;; 232) echo epoll_wait ;;
    247) echo waitid ;; 270) echo pselect6 ;; 271) echo ppoll ;; 281) echo epoll_pwait ;;
    *) echo "system call $1" ;;
  esac
}

threads() {
  count=0
  for thread in "/proc/$1/task"/[0-9]*; do
    count=$((count + 1)); [ "$count" -le 1000 ] || break
    name=; state=; channel=; call=
    IFS= read -r name < "$thread/comm"
    while read -r key value more; do [ "$key" = State: ] && { state="$value $more"; break; }; done < "$thread/status"
    read -r call more < "$thread/syscall"
    IFS= read -r channel < "$thread/wchan"
    case $call in ''|-1|running) call= ;; *) call=", in $(call_of "$call")" ;; esac
    case $channel in ''|0) channel= ;; *) channel=", waits in $channel" ;; esac
    printf '%s: %s%s%s\n' "$name" "$state" "$call" "$channel"
  done 2>/dev/null | clean | sort | uniq -c | sort -rn | head -n 40
}

catches() {
  mask=
  while read -r key value; do [ "$key" = SigCgt: ] && mask=$value; done < "/proc/$1/status"
  while [ "${#mask}" -gt @above@ ]; do mask=${mask#?}; done
  case $mask in [@digits@]*) [ "${#mask}" -eq @above@ ] ;; *) false ;; esac
}

size_of() { wc -c < "$1" 2>/dev/null | tr -d ' '; }

asked() {
  before=$(size_of "$2"); last=$before; tries=0
  catches "$1" 2>/dev/null || { echo "it has taken back its permission to be asked for its stacks"; return; }
  kill -@signal@ "$1" || return
  while [ "$tries" -lt 30 ]; do
    sleep 0.1 2>/dev/null || sleep 1
    now=$(size_of "$2"); tries=$((tries + 1))
    [ "${now:-0}" -gt "${before:-0}" ] && [ "$now" = "$last" ] && break
    last=$now
  done
  [ "${now:-0}" -gt "${before:-0}" ] || { echo "it was asked for its stacks, and did not answer within 3 s"; return; }
  tail -c "+$((before + 1))" "$2" | head -c 60000 | clean
}

python_stacks() {
  descriptor=$(ls -l "/proc/$1/fd" 2>/dev/null |
    sed -n "s|.* \([0-9][0-9]*\) -> /memfd:@file@-$1 (deleted)\$|\1|p" | head -n 1)
  if [ -n "$descriptor" ]; then
    echo "Python stacks:"; asked "$1" "/proc/$1/fd/$descriptor"; return
  fi
  case $(readlink "/proc/$1/exe" 2>/dev/null) in *python*|*pypy*) ;; *) return ;; esac
  if command -v py-spy >/dev/null 2>&1 && command -v timeout >/dev/null 2>&1; then
    echo "Python stacks by py-spy:"; timeout 10 py-spy dump --nonblocking --pid "$1" 2>&1 | head -c 60000 |
      grep -v '^Python v\|^Process ' | clean
  else
    echo "no Python stacks: the program has not called muster.allow_stacks(), and there is no py-spy on its PATH"
  fi
}

found=0
for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  [ "$pid" != "$$" ] && [ -r "$folder/environ" ] || continue
  marks=$(tr '\n\000' '?\n' < "$folder/environ" 2>/dev/null | grep -e '^MUSTER_TASK_UID=' -e '^@mark@=')
  [ "$marks" = "MUSTER_TASK_UID=$own" ] || continue
  line=; IFS= read -r line < "$folder/stat" || continue
  set -- ${line##*) }
  [ "$2" != "$$" ] || continue
  found=$((found + 1)); [ "$found" -le 64 ] || { echo "there are more processes, which are left out"; break; }
  echo "process $pid (parent $2): $(started_as "$pid")"
  echo "$1, $(( (${12} + ${13}) / $(getconf CLK_TCK 2>/dev/null || echo 100) )) s of CPU so far"
  threads "$pid"
  python_stacks "$pid"
  echo
done 2>/dev/null
[ "$found" -gt 0 ] || echo "no process of the task can be seen"
"""


def _filled(values: dict[str, str]) -> str:
    text = _SCRIPT
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


COMMAND = (
    "sh",
    "-c",
    _filled(
        {
            "signal": str(SIGNAL),
            "file": FILE,
            "digits": _DIGITS,
            "above": str(_NIBBLE + 1),
            "mark": EXEC_MARK,
        }
    ),
)
