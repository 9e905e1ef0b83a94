"""Templates that users share, as the API answers them."""

from typing import Annotated, NotRequired, TypedDict


class TemplateOut(TypedDict):
    name: str
    version: Annotated[int, "0 for one that is built in."]
    author: str
    group: Annotated[str, "Whose members may use it, if it is shared in a group."]
    everyone: Annotated[bool, "Whether everybody may use it."]
    description: str
    sizeBytes: int
    createdAt: Annotated[str | None, "Null for one that is built in."]
    builtIn: Annotated[bool, "Whether Muster itself has it: nobody has published it."]
    files: NotRequired[Annotated[dict[str, str], "Texts by path. `job.yaml` is the job."]]


class TemplateList(TypedDict):
    items: list[TemplateOut]
