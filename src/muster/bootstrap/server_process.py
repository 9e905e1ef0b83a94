"""The server as a process: its arguments, its home folder, its exit code."""

import argparse
import signal
from collections.abc import Sequence

import uvloop

from muster.bootstrap.error_printing import print_error
from muster.bootstrap.home_folder import lock_home, make_home
from muster.bootstrap.server_log import set_up_logging
from muster.bootstrap.wiring import serve
from muster.domain.errors import Invalid, MusterError
from muster.settings.server import load_settings


def main(argv: Sequence[str] | None = None) -> int:
    try:
        settings = load_settings(_arguments(argv))
        if not settings.standby or not (settings.home / "identity").exists():
            make_home(settings.home)  # a standby leaves the folder of a running server as it is
        with lock_home(settings.home, is_standby=settings.standby) as is_locked:
            log_file = set_up_logging(settings)
            signals = uvloop.run(serve(settings, has_home_lock=is_locked, log_file=log_file))
        for number in signals:
            signal.raise_signal(number)
    except MusterError as error:
        print_error(error)
        return 2 if isinstance(error, Invalid) else 1
    except KeyboardInterrupt:
        return 130
    return 0


def _arguments(argv: Sequence[str] | None) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="muster server", description="Run the Muster server.")
    parser.add_argument("--home", help="the folder for all data of the server ($MUSTER_HOME, ~/.muster)")
    parser.add_argument("--config", help="the settings file (config.yaml in the home folder)")
    parser.add_argument("--host", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port to listen on (7070); 0 chooses a free one")
    parser.add_argument("--tls-cert", dest="tlsCert", help="a PEM file with the certificate, to serve HTTPS")
    parser.add_argument("--tls-key", dest="tlsKey", help="the PEM file with its key")
    parser.add_argument("--tls-self-signed", dest="tlsSelfSigned", action="store_true", default=None)
    parser.add_argument("--log-level", dest="logLevel", choices=("debug", "info", "warning", "error"))
    parser.add_argument("--log-file", dest="logFile", help="a file to write the log to as well, with rotation")
    parser.add_argument("--standby", action="store_true", default=None, help="share the home folder of a server")
    parser.add_argument("--access-log", dest="accessLog", action="store_true", default=None)
    return dict(vars(parser.parse_args(argv)))
