"""What callers of the API send about files, as pydantic models that validate it."""

from pydantic import Field

from muster.wire.requests import Request

PATH_DESCRIPTION = "Begins with the name of a folder: `data/criteo/train.csv`."
MAX_PATH = 4096
_RUN = "The `run` of the answer before, to go on; absent to begin."


class FolderIn(Request):
    path: str = Field(min_length=1, max_length=MAX_PATH, description=PATH_DESCRIPTION)
    node: str | None = Field(None, max_length=253)
    parents: bool = Field(False, description="Make missing parent folders too; an existing folder is not an error.")
    private: bool = Field(False, description="What is made is for the account of its owner alone.")


class FileMoveIn(Request):
    path: str = Field(min_length=1, max_length=MAX_PATH, description=PATH_DESCRIPTION)
    to: str = Field(min_length=1, max_length=MAX_PATH, description="The new path itself, not the folder it goes to.")
    node: str | None = Field(None, max_length=253)
    overwrite: bool = False
    run: str | None = Field(None, max_length=64, description=_RUN)


class FileCopyIn(FileMoveIn):
    recursive: bool = False
