"""Settings of the InfluxDB 1.x that the server sends node metrics to."""

from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from muster.settings.private_files import read_secret
from muster.wire.spec_schema import Seconds


class InfluxSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)

    url: str = Field(description="The address, such as http://monitor:8086, without user and password.")
    database: str = Field(
        "muster",
        min_length=1,
        description="The database. It is created if it is missing and the account may create it.",
    )
    user: str = Field("", description="The account; without it, no authentication is used.")
    password_file: Path | None = Field(None, description="A file that only the server's account can read (0600).")
    every: Seconds = Field(10.0, ge=1, description="The interval between two exports.")

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must look like http://monitor:8086")
        if "@" in parts.netloc:
            raise ValueError("must not contain an account; use `user` and `passwordFile`")
        if parts.query or parts.fragment:
            raise ValueError("must not contain a query; use `database` for the database")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_complete(self) -> "InfluxSettings":
        if bool(self.user) != (self.password_file is not None):
            raise ValueError("user and passwordFile must be given together")
        return self


def read_password(settings: InfluxSettings, home: Path) -> str:
    """Return the first line of the password file. A relative path starts in the home folder.

    Raises ValueError if other users can read the file.
    """
    if settings.password_file is None:
        return ""
    return read_secret(home / settings.password_file.expanduser(), "password")
