"""Job files that are scripts. They are texts with options in their comments, and not YAML."""

from muster.domain.errors import Invalid
from muster.wire.documents import Document

_MOST = 64 << 10
"""The script is one word of the command of the job, and no word of a command is longer."""


def script_document(text: str) -> Document:
    if len(text) > _MOST:
        hint = "move a part of it into a file that the script calls"
        raise Invalid(f"the script is larger than {_MOST >> 10} KiB", hint=hint)
    return Document(text, {(): 1}, is_script=True)
