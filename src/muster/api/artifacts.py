"""Packages that were uploaded and outputs that were collected, as the API answers them."""

from typing import Annotated, TypedDict


class PackageOut(TypedDict):
    digest: str
    size: int
    received: int
    complete: bool


class OutputOut(TypedDict):
    path: str
    size: int
    sha256: str
    modifiedAt: str
    task: str


class OutputList(TypedDict):
    items: list[OutputOut]
    attempt: int
    complete: Annotated[bool, "Whether nothing more is to come of this attempt."]
    leftOut: Annotated[list[str], "Files that were not collected because they exceed the server's limit."]
    problems: list[str]
