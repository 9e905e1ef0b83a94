"""The shapes of the calls on files: what is sent and what comes back."""

from typing import Literal

from pydantic import Field

from muster.wire.schemas import Shape

PATH_DESCRIPTION = "Begins with the name of a folder: `data/criteo/train.csv`."
MAX_PATH = 4096
_RUN = "From the answer before, to go on; absent to begin."


class FolderOut(Shape):
    name: str
    shared: bool = Field(description="Every node sees the same files there; if not, each has its own.")
    read_only: bool


class FolderList(Shape):
    items: list[FolderOut]


class FileOut(Shape):
    name: str
    kind: Literal["file", "folder", "link", "upload", "other"]
    size: int
    modified_at: str
    mode: str = Field(description="Permissions as `644`.")
    version: str = Field(description="Another one whenever the file has changed; the ETag of its content.")
    target: str | None = Field(description="What a link says.")


class FileList(Shape):
    items: list[FileOut]
    next_cursor: str | None = None


class UploadOut(Shape):
    path: str
    size: int
    received: int
    complete: bool
    sha256: str | None = Field(description="Of the bytes received, when it was asked for and is known.")


class DigestOut(Shape):
    path: str
    sha256: str | None = Field(description="Null while it is being found: ask again with `run`.")
    bytes: int
    run: str


class ProgressOut(Shape):
    """How far it is. Unless it is done, ask again with `run`."""

    done: bool
    run: str
    bytes: int
    files: int
    folders: int
    skipped: int = Field(description="Devices and the like, and what the node may not read.")
    unfinished: int = Field(description="Bytes of uploads that are not finished; they are in no other count.")


class FolderIn(Shape):
    path: str = Field(min_length=1, max_length=MAX_PATH, description=PATH_DESCRIPTION)
    node: str | None = Field(None, max_length=253)
    parents: bool = Field(False, description="Make missing folders above it too; one that is there is no error.")


class FileMoveIn(Shape):
    path: str = Field(min_length=1, max_length=MAX_PATH, description=PATH_DESCRIPTION)
    to: str = Field(min_length=1, max_length=MAX_PATH, description="The new path itself, not the folder it goes to.")
    node: str | None = Field(None, max_length=253)
    overwrite: bool = False
    run: str | None = Field(None, max_length=64, description=_RUN)


class FileCopyIn(FileMoveIn):
    recursive: bool = False
