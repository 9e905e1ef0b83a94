"""The shell script that runs a setup once per node, and then the command of the task with what was prepared.

It is part of the task: it has the task's account, isolation, container, limits and log, and outlives agent and server
like the task. A lock that the kernel gives up with its holder lets one task at a time prepare a folder, at its final
place, because virtual environments cannot be moved. The file `ready` appears by a rename when all is on the disk; what
has none is removed by whoever holds the lock next.

The setup runs in a copy of the package, without inputs and mounts, which may differ between jobs that share the result.
Whatever it changes there is copied into the working directory of each task. Python packages go to a virtual environment
that has those of the task's own Python below it.
"""

BEGIN = "muster: setup: "
"""The beginning of every line that the script itself prints."""
FAILED = "failed with exit code "
READY = "ready"

# Makes the virtual environment in the folder of the first argument. pip is that of the Python below, if it has one.
_ENVIRONMENT = r"""
import importlib.util, os, subprocess, sys, sysconfig, venv
folder, below = sys.argv[1], {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
nested = sys.prefix != sys.base_prefix
packages = ("site-packages", "dist-packages")
outer = [path for path in sys.path if path.endswith(packages) and path not in below]
venv.EnvBuilder(system_site_packages=not nested or bool(outer), symlinks=True, with_pip=False).create(folder)
site = os.path.join(folder, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
python = os.path.join(folder, "bin", "python")
if nested:
    with open(os.path.join(site, "muster_parent.pth"), "w") as file:
        file.write("".join(path + "\n" for path in sorted(below)))
if importlib.util.find_spec("pip"):
    for name in ("pip", "pip3"):
        path = os.path.join(folder, "bin", name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\nexec \"%s\" -m pip \"$@\"\n" % python)
        os.chmod(path, 0o755)
elif importlib.util.find_spec("ensurepip"):
    subprocess.call([python, "-m", "ensurepip", "--default-pip"], stdout=subprocess.DEVNULL)
with open(os.path.join(folder, "site-folder"), "w") as file:
    file.write(site + "\n")
"""

# Copies what is in the first folder to the second one. Images with busybox have no other tool that leaves mounts out.
_COPY = r"""
import os, shutil, sys
device = os.stat(sys.argv[1]).st_dev
def copy(source, target):
    os.makedirs(target, exist_ok=True)
    for entry in os.scandir(source):
        path = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            if entry.stat(follow_symlinks=False).st_dev == device and not os.path.islink(path):
                copy(entry.path, path)
        elif entry.is_symlink() or entry.is_file():
            if os.path.lexists(path):
                os.unlink(path)
            shutil.copy2(entry.path, path, follow_symlinks=False)
    shutil.copystat(source, target)
copy(*sys.argv[1:])
"""
# Succeeds if something in the first folder has changed since the second file was made.
_CHANGED = r"""
import os, sys
began = os.stat(sys.argv[2]).st_mtime_ns
for parent, folders, files in os.walk(sys.argv[1]):
    if any(os.lstat(os.path.join(parent, name)).st_ctime_ns > began for name in folders + files):
        sys.exit(0)
sys.exit(1)
"""
_VERSION = 'import sys, zlib; print("%08x" % zlib.crc32((sys.version + sys.prefix).encode()))'

SCRIPT = rf"""# Runs the setup of a job once per node, then the command of the task.
# Arguments: the number of words of the setup, the words of the setup, and those of the command.
say() {{ echo "{BEGIN}$*"; }}
tell() {{
  [ ! -d "$own" ] || {{ echo "$1" >"$own/next" && mv -f "$own/next" "$own/state"; }}
}}
fail() {{
  tell failed
  say "{FAILED}$1"
  exit "$1"
}}
lock() {{
  if command -v flock >/dev/null 2>&1; then flock "$@" 9
  else "$python" -c 'import fcntl, sys; fcntl.flock(9, 6 if sys.argv[1:] else 2)' "$@" 2>/dev/null
  fi
}}
use() {{
  if [ -x "$folder/env/bin/python" ]; then
    PATH="$folder/env/bin:$PATH"
    VIRTUAL_ENV="$folder/env"
    export PATH VIRTUAL_ENV
  fi
  MUSTER_SETUP_DIR="$folder/env"
  export MUSTER_SETUP_DIR
}}
copy() {{ # what is in one folder to another one, without what is mounted there
  if [ -n "$python" ]; then "$python" -c '{_COPY}' "$1" "$2"; else cp -a "$1/." "$2/"; fi
}}
is_changed() {{
  if [ -n "$python" ]; then "$python" -c '{_CHANGED}' "$folder/source" "$folder/began"
  else [ -n "$(find "$folder/source" -newer "$folder/began" | head -n 1)" ]
  fi
}}
first_words() {{ # "$@" up to the number of words of the setup
  place=0 words=
  while [ "$place" -lt "$count" ]; do
    place=$((place + 1))
    words="$words \"\${{$place}}\""
  done
}}
prepare() {{
  chmod -R u+w "$folder/env" 2>/dev/null
  rm -rf "$folder/env" "$folder/source" "$folder/changed" "$folder/failed"
  mkdir "$folder/env" "$folder/source" && copy . "$folder/source" || return 1
  find "$folder/source" -type l -exec sh -c \
    'for one; do case $(readlink "$one") in /*) rm -f "$one" ;; esac; done' sh {{}} +
  : >"$folder/began" || return 1
  if [ -n "$python" ] && ! "$python" -c '{_ENVIRONMENT}' "$folder/env"; then
    say "no virtual environment can be made with $python: the setup runs without one"
  fi
  (use && cd "$folder/source" && exec "$@" </dev/null) || return
  ! is_changed || : >"$folder/changed" || return 1
  chmod -R a-w "$folder/env" || return 1
  sync -f "$folder" 2>/dev/null || sync
  echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) by job $MUSTER_JOB_NAME" >"$folder/ready.next" &&
    mv -f "$folder/ready.next" "$folder/ready" && touch "$folder/.."
}}
count=$1
shift
python=$(command -v python3 || command -v python)
version=$([ -z "$python" ] || "$python" -c '{_VERSION}')
folder=$MUSTER_SETUP_ENTRY/content/v$version
own=$MUSTER_SETUP_ENTRY/tasks/${{MUSTER_TASK_UID:-none}}
gang=$MUSTER_JOB_ID.$MUSTER_ATTEMPT
if [ -z "$python" ] && ! command -v flock >/dev/null 2>&1; then
  say "there is neither flock nor Python here, so the result is for this task alone"
  folder=$own/alone
fi
if [ ! -f "$folder/ready" ]; then
  mkdir -p "$folder" && exec 9>"$folder/lock" || fail 1
  waited=
  if ! lock -n; then
    waited=yes
    tell waiting
    say "waits for another task on this node, which prepares the same"
    lock || fail 1
  fi
fi
if [ -f "$folder/ready" ]; then
  say "{READY}: prepared on $(cat "$folder/ready")"
elif [ -n "$waited" ] && failed=$(cat "$folder/failed" 2>/dev/null) && [ "${{failed% *}}" = "$gang" ]; then
  say "it has failed in another task of this job on this node"
  [ ! -f "$folder/env/failure" ] || cat "$folder/env/failure"
  fail "${{failed##* }}"
else
  tell running
  first_words
  say begins
  eval "prepare $words"
  code=$?
  if [ "$code" != 0 ]; then
    echo "$gang $code" >"$folder/failed"
    fail "$code"
  fi
  say "{READY}"
fi
exec 9>&-
use
[ ! -f "$folder/changed" ] || copy "$folder/source" . || fail 1
if [ -f "$folder/env/site-folder" ]; then
  PYTHONPATH="$(cat "$folder/env/site-folder")${{PYTHONPATH:+:$PYTHONPATH}}"
  export PYTHONPATH
fi
tell ready
shift "$count"
unset MUSTER_SETUP_ENTRY place words waited code count version folder own gang
exec "$@"
"""
