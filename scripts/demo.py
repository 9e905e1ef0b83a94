"""`make demo`: starts a server, follows a training with 2 parameter servers and 2 workers to its end, and prints the
job table.

In a terminal the server keeps running, and the address of its page is printed; otherwise it is stopped.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUSTER = [str(Path(sys.executable).parent / "muster")]
JOB = ROOT / "examples" / "wide-and-deep-ps" / "job.yaml"


def main() -> int:
    started = time.monotonic()
    home = Path(os.environ.get("MUSTER_HOME") or Path.home() / ".muster")
    port = os.environ.get("MUSTER_PORT", "7070")
    server = _serve(port) or _serve("0")
    if server is None:
        return 1
    try:
        print(f"\n$ muster submit {JOB.relative_to(ROOT)} --follow", flush=True)
        done = subprocess.run([*MUSTER, "submit", str(JOB), "--name", f"demo-{os.getpid()}", "--follow"], check=False)
        took = time.monotonic() - started
        for command in (["get", "workers", "@last"], ["get", "jobs", "--limit", "5"]):
            print(f"\n$ muster {' '.join(command)}", flush=True)
            subprocess.run([*MUSTER, *command], check=False)
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
        print("The server has been stopped. `make up` starts it again and prints the address of the page.", flush=True)


def _serve(port: str) -> "tuple[subprocess.Popen[str], str] | None":
    """Starts a server on that port. Returns None if it does not start; its own message says why. It logs only errors,
    because its log would appear between the lines of the demo."""
    print(f"$ muster up --port {port}", flush=True)
    quiet = {"MUSTER_LOG_LEVEL": "error", **os.environ}
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
