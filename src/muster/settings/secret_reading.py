"""Reads the secrets that a settings file only names: in files of their own, or in variables."""

import ssl
from collections.abc import Mapping
from pathlib import Path

from muster.domain.errors import Problem
from muster.lib.web_addresses import is_web_address
from muster.settings.private_files import read_secret


class SecretReader:
    """Collects the problems of all secrets. Relative paths start at `folder`."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ
        self.problems: list[Problem] = []

    def one(self, path: str, what: str, file: Path | None, variable: str | None) -> str:
        """Empty if neither a file nor a variable is named."""
        if variable is not None:
            value = self._environ.get(variable, "")
            if not value:
                self.problems.append(Problem(f"{path}Env", f"the variable {variable} is not set"))
            return value
        if file is None:
            return ""
        try:
            return read_secret(self._folder / file.expanduser(), what)
        except ValueError as error:
            self.problems.append(Problem(f"{path}File", str(error)))
            return ""

    def token(self, path: str, file: Path | None, variable: str | None) -> str:
        token = self.one(path, "token", file, variable)
        if not token.isprintable() or not token.isascii() or " " in token:
            key = f"{path}Env" if variable is not None else f"{path}File"
            self.problems.append(Problem(key, "what it contains is not a token", "see `muster tokens create`"))
        return token

    def address(self, path: str, file: Path | None, variable: str | None) -> str:
        address = self.one(path, "address", file, variable)
        if address and not is_web_address(address):
            key = f"{path}Env" if variable is not None else f"{path}File"
            self.problems.append(Problem(key, "what it contains is not an address that begins with http(s)://"))
        return address

    def authorities(self, path: str, file: Path | None) -> None:
        """Checks a file of certificates, so that a mistake is told before a mail cannot be sent."""
        if file is None:
            return
        place = self._folder / file.expanduser()
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(place)
        except ssl.SSLError:
            self.problems.append(Problem(path, f"{place} has no certificates in the format PEM"))
        except OSError as error:
            self.problems.append(Problem(path, f"cannot read {place}: {error.strerror}"))
