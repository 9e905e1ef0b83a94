"""Models as the client shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from muster.client.output_views import OutputsView, OutputView
from muster.client.views import instant

if TYPE_CHECKING:
    from muster.api.models import ModelOut


@dataclass(frozen=True, slots=True)
class ModelView:
    """One version. A list has models without their files."""

    id: str
    name: str
    version: int
    owner: str
    description: str
    size_bytes: int
    created_at: datetime | None
    lineage: Mapping[str, Any]
    files: OutputsView = field(repr=False)
    raw: Any = field(repr=False)

    @property
    def ref(self) -> str:
        return f"{self.name}@{self.version}"

    @classmethod
    def of(cls, raw: "ModelOut") -> Self:
        files = tuple(
            OutputView(one["path"], one["size"], one["sha256"], "", "", one) for one in raw.get("files") or ()
        )
        return cls(
            id=raw["id"],
            name=raw["name"],
            version=int(raw["version"]),
            owner=raw["owner"],
            description=raw.get("description") or "",
            size_bytes=int(raw.get("sizeBytes") or 0),
            created_at=instant(raw.get("createdAt")),
            lineage=raw["lineage"],
            files=OutputsView(files, 0, True, (), (), raw),
            raw=raw,
        )
