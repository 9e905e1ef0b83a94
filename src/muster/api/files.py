"""Folders and files of a cluster's nodes, as the API answers them."""

from typing import Annotated, Literal, NotRequired, TypedDict

FileKindName = Literal["file", "folder", "link", "upload", "other"]


class FolderOut(TypedDict):
    name: str
    shared: Annotated[bool, "Every node sees the same files there; if not, each has its own."]
    readOnly: bool


class FolderList(TypedDict):
    items: list[FolderOut]


class FileOut(TypedDict):
    name: str
    kind: FileKindName
    size: int
    modifiedAt: str
    mode: Annotated[str, "Permissions, such as `644`."]
    version: Annotated[str, "Changes whenever the file changes; the ETag of its content."]
    target: Annotated[str | None, "The target of a link."]


class FileList(TypedDict):
    items: list[FileOut]
    nextCursor: NotRequired[str | None]


class UploadOut(TypedDict):
    path: str
    size: int
    received: int
    complete: bool
    sha256: Annotated[str | None, "The digest of the bytes received, if it was asked for and is known."]


class DigestOut(TypedDict):
    path: str
    sha256: Annotated[str | None, "Null while it is being computed: ask again with `run`."]
    bytes: int
    run: str


class ProgressOut(TypedDict):
    """The progress of a long operation. Unless it is done, ask again with `run`."""

    done: bool
    run: str
    bytes: int
    files: int
    folders: int
    skipped: Annotated[int, "How many entries were skipped: devices and the like, and what the node may not read."]
    unfinished: Annotated[int, "The bytes of unfinished uploads, which are in no other count."]
