"""`python -m muster.bootstrap`: what `muster up` and `muster server` become."""

import argparse
import signal
import sys
from collections.abc import Sequence

import uvloop

from muster.bootstrap.home_folder import make_home, only_server
from muster.bootstrap.server_log import set_up_logging
from muster.bootstrap.wiring import serve
from muster.domain.errors import Invalid, MusterError
from muster.settings.server import load_settings


def main(argv: Sequence[str] | None = None) -> int:
    try:
        settings = load_settings(_arguments(argv))
        set_up_logging(settings)
        make_home(settings.home)
        with only_server(settings.home):
            uvloop.run(serve(settings))
    except MusterError as error:
        _complain(error)
        return 2 if isinstance(error, Invalid) else 1
    except KeyboardInterrupt:
        return 130
    return 0


def _arguments(argv: Sequence[str] | None) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="muster server", description="The Muster server.")
    parser.add_argument("--home", help="everything the server keeps ($MUSTER_HOME, ~/.muster)")
    parser.add_argument("--config", help="settings file (config.yaml in the home folder)")
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (7070; 0 takes a free one)")
    parser.add_argument("--log-level", dest="logLevel", choices=("debug", "info", "warning", "error"))
    parser.add_argument("--access-log", dest="accessLog", action="store_true", default=None)
    return dict(vars(parser.parse_args(argv)))


def _complain(error: MusterError) -> None:
    lines = [f"error: {error.message}", *(f"  {p}" for p in getattr(error, "problems", ()))]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    sys.stderr.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
