"""The step that prepares a task before it starts: it brings the package and the inputs, and waits for the peers' names.

It runs in an init container, in an image that has Python 3, or a shell with tar and one of curl and wget. The scripts
are in the gang's own object; what they fetch is in the gang's secret, because an address gives access to an archive.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from muster.backends.kubernetes.pod_state import FETCH_FAILED, PACKAGE_BROKEN, UNFIT_IMAGE
from muster.domain.launch_requests import LaunchRequest

PLAN, PEERS, SHELL, PYTHON = "archives", "peers", "prepare.sh", "prepare.py"
"""Keys of the gang's secret (the first) and of its own object."""
CERTIFICATE = "server.crt"
"""The key with the certificate of a server that has made its own; empty for others."""
SCRIPTS_FOLDER, PLAN_FOLDER, WORK_FOLDER = "/muster/prepare", "/muster/archives", "/muster/work"
COMMAND = ("/bin/sh", f"{SCRIPTS_FOLDER}/{SHELL}")
OUTPUTS_VARIABLE = "MUSTER_HAS_OUTPUTS"
"""Set for the step if outputs will be collected, which needs Python 3."""
_PEERS_WAIT_S = 600
"""How long a task waits for the names of its peers. They are known as soon as all pods have a node."""


def scripts(
    requests: Sequence[LaunchRequest], peers: Iterable[str], certificate: str = "", *, has_outputs: bool = False
) -> dict[str, str]:
    """What the gang's own object has for this step; empty if no task needs it. For outputs it examines the image."""
    names = list(peers)
    if len(names) < 2 and not has_outputs and not any(request.digests for request in requests):
        return {}
    waited = names if len(names) > 1 else []
    listed = "".join(f"{name}\n" for name in waited)
    return {SHELL: _SHELL, PYTHON: _PYTHON, PEERS: listed, CERTIFICATE: certificate}


def plan(request: LaunchRequest, urls: Mapping[str, str]) -> str:
    """What to fetch, one archive on a line: digest, address, the one file of it that is wanted, and where it goes."""
    return "".join("\t".join(line) + "\n" for line in _plan(request, urls))


def renewed(written: str, url_of: Callable[[str], str]) -> str:
    """The same plan with new addresses."""
    lines = (line.split("\t") for line in written.splitlines())
    return "".join("\t".join((digest, url_of(digest), *rest)) + "\n" for digest, _, *rest in lines)


def _plan(request: LaunchRequest, urls: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    if request.package is not None:
        yield request.package, urls[request.package], "", "."
    for given in request.inputs:
        yield given.digest, urls[given.digest], given.member, given.target


_SHELL = rf"""# Prepares a task. Exit codes:
# {FETCH_FAILED} nothing was fetched, {UNFIT_IMAGE} the image lacks a program, {PACKAGE_BROKEN} a wrong archive.
if command -v python3 >/dev/null 2>&1; then exec python3 "{SCRIPTS_FOLDER}/{PYTHON}"; fi
fail() {{ code=$1; shift; echo "$*" >&2; exit "$code"; }}
[ -z "${{{OUTPUTS_VARIABLE}:-}}" ] ||
  fail {UNFIT_IMAGE} "outputs need Python 3, which the image lacks: set initImage in the file of the cluster"
unfit="the image of the preparing step has neither Python 3 nor"
trusted="{SCRIPTS_FOLDER}/{CERTIFICATE}"
if command -v curl >/dev/null 2>&1; then
  if [ -s "$trusted" ]; then get() {{ curl -fsS --cacert "$trusted" -o "$2" "$1"; }}
  else get() {{ curl -fsS -o "$2" "$1"; }}; fi
elif command -v wget >/dev/null 2>&1; then get() {{ wget -q -O "$2" "$1"; }}
else get() {{ fail {UNFIT_IMAGE} "$unfit curl or wget: set initImage in the file of the cluster"; }}; fi
if command -v getent >/dev/null 2>&1; then knows() {{ getent hosts "$1" >/dev/null 2>&1; }}
elif command -v nslookup >/dev/null 2>&1; then knows() {{ nslookup "$1" >/dev/null 2>&1; }}
else knows() {{ return 0; }}; fi
tab=$(printf '\t')
if [ -f "{PLAN_FOLDER}/{PLAN}" ]; then
  while IFS= read -r line; do
    digest=${{line%%"$tab"*}}; line=${{line#*"$tab"}}
    url=${{line%%"$tab"*}}; line=${{line#*"$tab"}}
    member=${{line%%"$tab"*}}; target={WORK_FOLDER}/${{line#*"$tab"}}
    archive=/tmp/muster-$digest
    tries=0
    until get "$url" "$archive"; do
      tries=$((tries + 1))
      [ "$tries" -lt 5 ] || fail {FETCH_FAILED} "the archive $digest could not be fetched from the Muster server"
      sleep "$tries"
    done
    if command -v sha256sum >/dev/null 2>&1; then
      [ "$(sha256sum "$archive" | cut -c1-64)" = "$digest" ] || fail {PACKAGE_BROKEN} "the archive $digest is damaged"
    fi
    command -v tar >/dev/null 2>&1 || fail {UNFIT_IMAGE} "$unfit tar: set initImage in the file of the cluster"
    if [ -n "$member" ]; then
      mkdir -p "$archive.d" "$(dirname "$target")" && tar -xzf "$archive" -C "$archive.d" &&
        cp -p "$archive.d/$member" "$target" || fail {PACKAGE_BROKEN} "the input $digest has no file $member"
    else
      mkdir -p "$target" && tar -xzf "$archive" -C "$target" || fail {PACKAGE_BROKEN} "$digest cannot be unpacked"
    fi
    rm -rf "$archive" "$archive.d"
  done <"{PLAN_FOLDER}/{PLAN}"
fi
waited=0
while IFS= read -r name; do
  until knows "$name"; do
    [ "$waited" -lt {_PEERS_WAIT_S} ] || fail {FETCH_FAILED} "the name $name of a peer is not known"
    waited=$((waited + 1)); sleep 1
  done
done <"{SCRIPTS_FOLDER}/{PEERS}"
"""

_PYTHON = rf'''"""Prepares a task: see prepare.sh."""
import hashlib, os, shutil, socket, ssl, sys, tarfile, tempfile, time, urllib.error, urllib.request

def fail(code, words):
    print(words, file=sys.stderr)
    sys.exit(code)

def trust():
    path = "{SCRIPTS_FOLDER}/{CERTIFICATE}"
    if not os.path.getsize(path):
        return ssl.create_default_context()
    context = ssl.create_default_context(cafile=path)
    context.check_hostname = False  # it is this very certificate
    return context

def fetched(url, digest, path):
    for tries in range(6):
        try:
            seen = hashlib.sha256()
            with urllib.request.urlopen(url, timeout=60, context=trust()) as answer, open(path, "wb") as file:
                while True:
                    data = answer.read(1 << 20)
                    if not data:
                        break
                    seen.update(data)
                    file.write(data)
            if seen.hexdigest() == digest:
                return
            why = "it is damaged"
        except urllib.error.HTTPError as error:
            if error.code in (403, 404, 410):
                fail({PACKAGE_BROKEN}, "the server has no archive %s at its address: %s" % (digest, error))
            why = str(error)
        except OSError as error:
            why = str(error)
        time.sleep(min(2.0 ** tries, 10.0))
    fail({FETCH_FAILED}, "the archive %s could not be fetched from the Muster server: %s" % (digest, why))

def unpacked(path, folder):
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(path) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="tar")
        else:
            archive.extractall(folder)

def placed(digest, url, member, target):
    target = os.path.join("{WORK_FOLDER}", target)
    with tempfile.TemporaryDirectory(dir="{WORK_FOLDER}") as spare:
        path = os.path.join(spare, "archive")
        fetched(url, digest, path)
        try:
            if not member:
                unpacked(path, target)
                return
            unpacked(path, os.path.join(spare, "content"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.move(os.path.join(spare, "content", member), target)
        except (tarfile.TarError, OSError, EOFError) as error:
            fail({PACKAGE_BROKEN}, "the archive %s cannot be unpacked: %s" % (digest, error))

def lines(path):
    try:
        with open(path) as file:
            return [line.rstrip("\n") for line in file]
    except FileNotFoundError:
        return []

for line in lines("{PLAN_FOLDER}/{PLAN}"):
    placed(*line.split("\t"))
deadline = time.monotonic() + {_PEERS_WAIT_S}
for name in lines("{SCRIPTS_FOLDER}/{PEERS}"):
    while True:
        try:
            socket.getaddrinfo(name, None)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                fail({FETCH_FAILED}, "the name %s of a peer is not known: %s" % (name, error))
            time.sleep(0.1)
'''
