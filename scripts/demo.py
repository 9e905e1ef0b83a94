"""`make demo`: a server, a 2 ps + 2 worker training followed to its end, the job table, and where the page is.

In a terminal it goes on serving; otherwise it stops the server and exits.
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
        print(f"\nThe first job took {took:.1f} s from the start of the server. Everything is in {home}.")
        print(f"The page: {server[1]}  (log in with the token in {home / 'context.json'},")
        print("or with a password: muster users passwd NAME)", flush=True)
        if done.returncode == 0 and sys.stdin.isatty() and sys.stdout.isatty():
            print("Serving; Ctrl-C ends it.", flush=True)
            server[0].wait()
        return done.returncode
    except KeyboardInterrupt:
        return 130
    finally:
        server[0].send_signal(signal.SIGTERM)
        server[0].wait(20)


def _serve(port: str) -> "tuple[subprocess.Popen[str], str] | None":
    """A server on that port, or None when it cannot be had (its own words say why)."""
    print(f"$ muster up --port {port}", flush=True)
    process = subprocess.Popen([*MUSTER, "up", "--port", port], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    print(line, flush=True)
    if "http://" in line:
        return process, line.split()[-1]
    process.wait(20)
    return None


if __name__ == "__main__":
    sys.exit(main())
