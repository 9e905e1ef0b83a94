"""`make demo`: starts a server, follows a training with 2 parameter servers and 2 workers to its end, and prints the
job table.

The server has a home folder and a port of its own, so another server may run meanwhile. In a terminal it keeps running,
and the address of its page is printed; otherwise it is stopped.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUSTER = [str(Path(sys.executable).parent / "muster")]
JOB = ROOT / "examples" / "wide-and-deep-ps" / "job.yaml"
HOME = "~/.muster-demo"


def main() -> int:
    started = time.monotonic()
    environment = _environment(Path(os.environ.get("MUSTER_HOME") or Path(HOME).expanduser()))
    server = _serve(os.environ.get("MUSTER_PORT", "7070"), environment) or _serve("0", environment)
    if server is None:  # another demo runs there
        environment = _environment(Path(tempfile.mkdtemp(prefix="muster-demo-")))
        server = _serve("0", environment)
    if server is None:
        return 1
    home = Path(environment["MUSTER_HOME"])
    try:
        print(f"\n$ muster submit {JOB.relative_to(ROOT)} --follow", flush=True)
        submit = ["submit", str(JOB), "--name", f"demo-{os.getpid()}", "--follow"]
        done = subprocess.run([*MUSTER, *submit], check=False, env=environment)
        took = time.monotonic() - started
        for command in (["get", "workers", "@last"], ["get", "jobs", "--limit", "5"]):
            print(f"\n$ muster {' '.join(command)}", flush=True)
            subprocess.run([*MUSTER, *command], check=False, env=environment)
        print(f"\nThe first job took {took:.1f} s from the start of the server. Everything is in {home}.", flush=True)
        if done.returncode == 0 and sys.stdin.isatty() and sys.stdout.isatty():
            print(f"The page: {server[1]}  (log in with the token in {home / 'context.json'},")
            print("or with a password: muster users passwd NAME)")
            print("The server is running; Ctrl-C stops it.", flush=True)
            server[0].wait()
        return done.returncode
    except KeyboardInterrupt:
        return 130
    finally:
        server[0].send_signal(signal.SIGTERM)
        server[0].wait(20)
        print(f"The server has been stopped. `MUSTER_HOME={home} make up` starts it again.", flush=True)


def _environment(home: Path) -> dict[str, str]:
    """What the server and all commands of the demo get: no other server is meant."""
    others = ("MUSTER_SERVER", "MUSTER_TOKEN", "MUSTER_CONTEXT")
    kept = {name: value for name, value in os.environ.items() if name not in others}
    return kept | {"MUSTER_HOME": str(home)}


def _serve(port: str, environment: Mapping[str, str]) -> "tuple[subprocess.Popen[str], str] | None":
    """Starts a server on that port. Returns None if it does not start; its own message says why. It logs only errors,
    because its log would appear between the lines of the demo."""
    print(f"$ muster up --port {port}", flush=True)
    quiet = {"MUSTER_LOG_LEVEL": "error", **environment}
    process = subprocess.Popen([*MUSTER, "up", "--port", port], stdout=subprocess.PIPE, text=True, env=quiet)
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    print(line, flush=True)
    if "http://" in line:
        return process, line.split()[-1]
    process.wait(20)
    return None


if __name__ == "__main__":
    sys.exit(main())
