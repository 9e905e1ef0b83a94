"""Templates that users share, as the client shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from muster.client.views import instant

if TYPE_CHECKING:
    from muster.api.templates import TemplateOut


@dataclass(frozen=True, slots=True)
class TemplateView:
    """`files` are texts by path; a list has templates without them."""

    name: str
    version: int
    author: str
    group: str
    everyone: bool
    description: str
    size_bytes: int
    created_at: datetime | None
    files: Mapping[str, str] = field(repr=False)
    raw: Any = field(repr=False)

    @property
    def audience(self) -> str:
        return "everyone" if self.everyone else self.group or "only the author"

    @classmethod
    def of(cls, raw: "TemplateOut") -> Self:
        return cls(
            name=raw["name"],
            version=int(raw["version"]),
            author=raw.get("author") or "",
            group=raw.get("group") or "",
            everyone=bool(raw.get("everyone")),
            description=raw.get("description") or "",
            size_bytes=int(raw.get("sizeBytes") or 0),
            created_at=instant(raw.get("createdAt")),
            files=dict(raw.get("files") or {}),
            raw=raw,
        )
