"""slurmdbd and its MariaDB for a Slurm cluster of tests."""

import shutil
import socket
from pathlib import Path

from tests.parts.host_claims import PATH, command
from tests.parts.pens import Pen, Program
from tests.parts.server import polls
from tests.parts.slurm_numbers import SlurmNumber
from tests.parts.slurm_settings import slurmdbd_conf

_PROGRAMS = ("slurmdbd", "mariadbd", "mariadb-install-db")
_START_S = 60.0
_USER = "mysql"
_GRANT = """CREATE USER slurm@'%' IDENTIFIED BY 'slurm';
GRANT ALL ON *.* TO slurm@'%';
"""


class SlurmAccounting:
    """What `sacct` asks. It may be killed and started again."""

    def __init__(self, folder: Path, number: SlurmNumber, pen: Pen) -> None:
        self._folder = folder
        self._number = number
        self._pen = pen
        self._daemon: Program | None = None

    def prepare(self) -> None:
        """Makes the database and starts it; slurmdbd makes its tables itself."""
        data = self._folder / "database"
        data.mkdir(mode=0o700)
        shutil.chown(data, _USER, _USER)
        command(
            "mariadb-install-db", f"--user={_USER}", f"--datadir={data}", "--auth-root-authentication-method=normal"
        )
        first = self._folder / "first.sql"
        first.write_text(_GRANT)
        settings = {
            "datadir": data,
            "socket": data / "socket",
            "pid-file": data / "pid",
            "bind-address": "127.0.0.1",
            "port": self._number.database_port,
            "init-file": first,
            "innodb-flush-log-at-trx-commit": 0,
            "innodb-buffer-pool-size": "64M",
            "skip-name-resolve": 1,
        }
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        server = self._pen.start(["mariadbd", "--no-defaults", f"--user={_USER}", *arguments], self._log("mariadb"), {})
        _wait_for_port(server, self._number.database_port)
        conf = self._folder / "slurmdbd.conf"
        conf.write_text(slurmdbd_conf(self._folder, self._number))
        conf.chmod(0o600)

    def start(self) -> None:
        env = {"SLURM_CONF": str(self._folder / "slurm.conf")}
        self._daemon = self._pen.start(["slurmdbd", "-D"], self._log("slurmdbd"), env)
        _wait_for_port(self._daemon, self._number.accounting_port)

    def kill(self) -> None:
        assert self._daemon is not None
        self._daemon.kill()

    def _log(self, name: str) -> Path:
        return self._folder / "log" / f"{name}.log"


def accounting_unavailable() -> str | None:
    """Why there can be no accounting here; None when there can."""
    missing = [program for program in _PROGRAMS if shutil.which(program, path=PATH) is None]
    if missing:
        return f"accounting needs {', '.join(missing)}: run scripts/install-slurm.sh"
    return None


def _wait_for_port(program: Program, port: int) -> None:
    for _ in polls(_START_S):
        assert program.is_running, program.said
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            continue
        return
    raise AssertionError(program.said)
