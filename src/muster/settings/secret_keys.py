"""The file with the keys that secrets are encrypted with: one key in each line, the newest first.

The server makes it when the first secret is set. Only its account can read it. All servers on one database need the
same keys.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from secrets import token_bytes

from muster.domain.errors import Unavailable
from muster.settings.private_files import write_private

NAME = "secrets-key"
_KEY_BYTES = 32


class SecretKeyFile:
    def __init__(self, path: Path, *, may_be_elsewhere: bool = False) -> None:
        """`may_be_elsewhere` says that a missing file is not a lost one: the settings name it, or another server on
        the database has it."""
        self.path = path
        self._may_be_elsewhere = may_be_elsewhere

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def read(self) -> Sequence[bytes]:
        """Read the keys; none if there is no file. Raises Unavailable if the file cannot be used."""
        try:
            with self.path.open(encoding="ascii") as file:
                if os.fstat(file.fileno()).st_mode & 0o007:
                    raise Unavailable(f"others can read {self.path}", hint=f"chmod 600 {self.path}")
                keys = [bytes.fromhex(line) for line in file.read().split()]
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            # The error of a line that is not a key quotes nothing of it.
            raise Unavailable(f"cannot read the keys of the secrets in {self.path}: {error}") from None
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise Unavailable(f"{self.path} must have a key of {_KEY_BYTES} bytes, in hexadecimal, in each line")
        return keys

    def add(self) -> None:
        """Add a new key, with which values are encrypted from now on."""
        self._write([token_bytes(_KEY_BYTES), *self.read()])

    def replace_lost(self) -> None:
        """Make a file with a new key, although values were encrypted with keys that are gone. Raises Unavailable if
        the file may exist elsewhere."""
        if self._may_be_elsewhere:
            raise Unavailable(
                f"the secrets in the database were encrypted with a key that this server does not have: {self.path} "
                "does not exist",
                hint="copy the file from the other server or from a backup: all servers on one database need it"
                " (secretsKeyFile in the settings)",
            )
        self.add()

    def keep_newest(self) -> int:
        """Remove all other keys. Returns how many there were."""
        newest, *older = self.read()
        self._write([newest])
        return len(older)

    def _write(self, keys: Sequence[bytes]) -> None:
        try:
            write_private(self.path, "".join(f"{key.hex()}\n" for key in keys))
        except OSError as error:
            raise Unavailable(f"cannot write the keys of the secrets to {self.path}: {error}") from None
