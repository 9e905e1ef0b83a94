"""Names of other systems as names of Muster jobs."""

import re

from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path
from muster.wire.spec_schema import NAME_PATTERN


def put_name(into: Translator, given: str, source: Path) -> bool:
    """Returns whether the job has another name here than there, which is said."""
    if re.fullmatch(NAME_PATTERN, given):
        into.put(("name",), given, source)
        return False
    valid = re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("._-")[:63].rstrip("._-") or "job"
    into.put(("name",), valid, source)
    into.warn(source, f"{given!r} is no name of a Muster job, so it is called {valid}")
    return True
