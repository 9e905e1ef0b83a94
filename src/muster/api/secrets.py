"""Secrets, as the API answers them: everything but the value."""

from typing import Annotated, TypedDict


class SecretOut(TypedDict):
    name: str
    owner: str
    kind: Annotated[str, "`text`, or `binary`, which can be given to tasks as a file only."]
    sizeBytes: int
    createdAt: str
    updatedAt: str


class SecretList(TypedDict):
    items: list[SecretOut]
