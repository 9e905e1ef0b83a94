"""Models and where they come from, as the API answers them."""

from typing import Annotated, Any, NotRequired, TypedDict


class ModelFileOut(TypedDict):
    path: str
    size: int
    sha256: str


class LineageOut(TypedDict):
    job: Annotated[str, "The name of the job that made it."]
    jobId: str
    attempt: int
    path: Annotated[str, "The path among the job's outputs."]
    cluster: str
    framework: str
    package: Annotated[str, "The digest of the job's code, or where it lies on the cluster; empty if it had none."]
    inputs: Annotated[list[str], "The digests of the data that was sent with the job."]
    mounts: Annotated[list[str], "The folders of the cluster that the job had."]
    image: str
    params: dict[str, Any]
    sweep: Annotated[str, "The id of the sweep that the job was a member of; empty if it was of none."]
    member: int
    commit: Annotated[str, "The commit of the job's code, if its client has noted it; with `-dirty` if it was changed."]


class ModelOut(TypedDict):
    id: str
    name: str
    version: int
    owner: str
    createdAt: str
    description: str
    sizeBytes: int
    lineage: LineageOut
    files: NotRequired[list[ModelFileOut]]


class ModelList(TypedDict):
    items: list[ModelOut]
