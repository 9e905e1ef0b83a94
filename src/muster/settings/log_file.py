"""The file that the server's log is written to, as `logFile` in the settings file: a path, or a path with sizes."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from muster.wire.spec_schema import Bytes


class LogFileSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)

    path: Path = Field(description="The file; a relative path starts in the home folder.")
    max_size: Bytes = Field(20 << 20, ge=64 << 10, description="The size at which another file is begun.")
    keep: int = Field(5, ge=0, le=1000, description="How many full files are kept besides the current one.")

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str | Path) else value
