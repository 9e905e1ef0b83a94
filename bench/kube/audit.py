"""What an operator wrote, from the API server's audit log."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_DRIVER = "admin"


@dataclass(frozen=True)
class AuditLog:
    path: Path

    def position(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def writes(self, since: int, namespace: str) -> Counter[str]:
        """The writes to a namespace by others than this driver, counted by what they did, refused ones too."""
        counted: Counter[str] = Counter()
        with self.path.open("rb") as log:
            log.seek(since)
            for line in log:
                entry = json.loads(line)
                target = entry.get("objectRef", {})
                if target.get("namespace") == namespace and entry["user"]["username"] != _DRIVER:
                    counted[_kind(entry["verb"], target, entry.get("responseStatus", {}).get("code", 0))] += 1
        return counted


def _kind(verb: str, target: dict[str, str], code: int) -> str:
    resource = "/".join(filter(None, [target["resource"], target.get("subresource")]))
    return f"{verb} {resource}" + (f" ({code})" if code >= 400 else "")
