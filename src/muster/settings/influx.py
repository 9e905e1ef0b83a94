"""Where the server pushes what nodes use: an InfluxDB 1.x."""

import stat
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from muster.wire.spec_schema import Seconds


class InfluxSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)

    url: str = Field(description="As http://monitor:8086, without account and password.")
    database: str = Field("muster", min_length=1, description="Made if it is missing and the account may.")
    user: str = Field("", description="Nobody in particular if absent.")
    password_file: Path | None = Field(None, description="A file that only the server's account may read (0600).")
    every: Seconds = Field(10.0, ge=1, description="How often.")

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is written like http://monitor:8086")
        if "@" in parts.netloc:
            raise ValueError("holds an account; give it by `user` and `passwordFile`")
        if parts.query or parts.fragment:
            raise ValueError("ends before the question mark; the database is a setting of its own")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_complete(self) -> "InfluxSettings":
        if bool(self.user) != (self.password_file is not None):
            raise ValueError("user and passwordFile go together")
        return self


def read_password(settings: InfluxSettings, home: Path) -> str:
    """Its first line. A relative path is in the home folder. Raises ValueError when others could have read it too."""
    if settings.password_file is None:
        return ""
    path = home / settings.password_file.expanduser()
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            raise ValueError(f"others may read {path}: chmod 600 {path}")
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    if not lines or not lines[0]:
        raise ValueError(f"{path} is empty: its first line is the password")
    return lines[0]
