"""The node list of the original system, `gpu_slaver_info.json`, read as it is."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, ValidationError

from muster.backends.logins.cluster_file import Host, LoginIn, User
from muster.backends.ssh.cluster_file.nodes import ssh_node
from muster.backends.ssh.cluster_file.schema import SshNodeIn
from muster.backends.ssh.options import SshNode
from muster.domain.errors import Invalid, Problem
from muster.wire.cluster_problems import refused
from muster.wire.documents import MAX_BYTES, Document, read_document
from muster.wire.physical_schema import ListedNodeName, listed


class SlaverIn(BaseModel):
    """A node of the original system."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ListedNodeName
    ip: Host
    user_name: User | None = None
    gpu_count: Annotated[int, Field(ge=0, le=1024)] | None = None
    gpu_info: Annotated[list[str], BeforeValidator(listed)] = Field(default_factory=list)


class _SlaversIn(RootModel[list[SlaverIn]]):
    pass


def read_slaver_list(text: str, defaults: LoginIn) -> list[SshNode]:
    """Raises Invalid with every problem, each with its line."""
    document = _read(text)
    try:
        found = _SlaversIn.model_validate(document.data).root
    except ValidationError as error:
        raise refused(error, document, SlaverIn, {}) from None
    return [ssh_node(_as_node(slaver), defaults, document.line(f"[{i}]")) for i, slaver in enumerate(found)]


def _read(text: str) -> Document:
    if len(text) > MAX_BYTES:
        raise _wrong(f"is larger than {MAX_BYTES >> 10} KiB")
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise _wrong(_syntax_words(error), error.lineno) from None
    except (RecursionError, ValueError):
        raise _wrong("is not JSON that can be read") from None
    if not isinstance(data, list):
        raise _wrong("is not a list", 1)
    return Document(data, _lines(text))


def _syntax_words(error: json.JSONDecodeError) -> str:
    """Explains the mistakes of people who write JSON as if it were Python."""
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    behind = after.removeprefix(",").lstrip()  # where a comma too many is found differs by the version of Python
    if (before.endswith(",") or after.startswith(",")) and behind.startswith(("]", "}")):
        return f"is not JSON: there is a comma too many before {behind[0]}"
    if after.startswith(("//", "/*", "#")):
        return "is not JSON, which has no comments"
    if after.startswith("'"):
        return "is not JSON: names and texts are written with \", not with '"
    return f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def _lines(text: str) -> dict[Any, int]:
    """Returns the lines of values, by reading the text as YAML. That fails for JSON with tabs, for example, and the
    lines are then unknown. Raises Invalid for duplicate keys, of which JSON silently takes the last."""
    try:
        return read_document(text).lines
    except Invalid as error:
        if any(problem.path for problem in error.problems):
            raise
        return {}


def _wrong(message: str, line: int | None = None) -> Invalid:
    hint = "a list of objects with name, ip, user_name, gpu_count and gpu_info"
    return Invalid("", problems=(Problem("", message, hint, line),))


def _as_node(slaver: SlaverIn) -> SshNodeIn:
    given = {"name": slaver.name, "host": slaver.ip, "user": slaver.user_name, "gpus": slaver.gpu_count}
    return SshNodeIn.model_validate(
        {key: value for key, value in given.items() if value is not None} | {"gpuModels": slaver.gpu_info}
    )
