"""The address of a receiver, which is its name, and the name of its folder."""

import re
from dataclasses import dataclass

ACCEPTED = "host:port, such as gpu1.example.org:9090 or [::1]:9090"
_WHOLE = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)):(?P<port>\d{1,5})"
)


@dataclass(frozen=True, slots=True, order=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def folder(self) -> str:
        """A colon is not good in names of folders: PATH and many tools take it for a separator."""
        return f"{self.host.replace(':', '-')}_{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}"


def parse_address(text: str) -> Address:
    """Raises ValueError."""
    found = _WHOLE.fullmatch(text)
    if found is None or not 1 <= int(found["port"]) <= 65535 or ".." in text:
        raise ValueError(f"must be {ACCEPTED}")
    return Address((found["six"] or found["host"]).lower(), int(found["port"]))
