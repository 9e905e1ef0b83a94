"""The log server that the server sends the records of its jobs to, as `logServer` in the settings file: an address, or
a mapping."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from muster.settings.private_files import read_secret
from muster.wire.spec_schema import Seconds

TOKEN_VARIABLE = "MUSTER_LOGSERVER_TOKEN"  # noqa: S105 - the name of a variable
DEFAULT_PORT = 9900


class LogServerSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)

    url: str = Field(description="The address: host:port, http://host:port or https://host:port.")
    token_file: Path | None = Field(
        None,
        description="A file that only the server's account can read (0600), with the token of the log server;"
        " by default, the variable MUSTER_LOGSERVER_TOKEN.",
    )
    ca_file: Path | None = Field(None, description="A PEM file with the certificates that are trusted, for https.")
    max_backlog: int = Field(
        1_000_000,
        ge=1,
        description="How many records wait at most while the log server is away. Beyond that, the oldest are dropped.",
    )
    alert_after: Seconds = Field(300.0, ge=0, description="How long sending may fail before admins are alerted.")

    @model_validator(mode="before")
    @classmethod
    def _from_address(cls, value: Any) -> Any:
        return {"url": value} if isinstance(value, str) else value

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        whole = url.strip() if "://" in url else f"http://{url.strip()}"
        parts = urlsplit(whole)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or any(map(str.isspace, whole)):
            raise ValueError("must look like loghost:9900 or https://loghost:9900")
        if "@" in parts.netloc:
            raise ValueError("must not contain an account; use `tokenFile`")
        if parts.query or parts.fragment:
            raise ValueError("must not contain a query")
        if port is None and "://" not in url:
            whole = f"http://{parts.netloc}:{DEFAULT_PORT}{parts.path}"
        return whole.rstrip("/")


def read_token(settings: LogServerSettings, home: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The token; empty if there is none. A relative path starts in the home folder. Raises ValueError if other users
    can read the file."""
    if settings.token_file is None:
        return environ.get(TOKEN_VARIABLE, "").strip()
    return read_secret(home / settings.token_file.expanduser(), "token")
