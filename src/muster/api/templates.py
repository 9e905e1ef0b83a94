"""Templates that users share, as the API answers them."""

from typing import Annotated, NotRequired, TypedDict


class TemplateOut(TypedDict):
    name: str
    version: int
    author: str
    group: Annotated[str, "Whose members may use it, if it is shared in a group."]
    everyone: Annotated[bool, "Whether everybody may use it."]
    description: str
    sizeBytes: int
    createdAt: str
    files: NotRequired[Annotated[dict[str, str], "Texts by path. `job.yaml` is the job."]]


class TemplateList(TypedDict):
    items: list[TemplateOut]
