"""Cluster files, as the API answers them."""

from typing import Annotated, NotRequired, TypedDict

from muster.api.problems import ProblemItem


class ClusterFileOut(TypedDict):
    name: str
    sha256: Annotated[str, "The digest of the file. Send it as `base` with the next version."]
    sizeBytes: int
    modifiedAt: str
    isInForce: Annotated[bool, "Whether this version is used. One with mistakes is not: an earlier one is, or none."]
    isMasked: Annotated[bool, "Whether passwords are hidden in `text`. Such a text is refused when it is sent back."]
    hasPrevious: Annotated[bool, "Whether the version before it is kept."]
    clusters: Annotated[list[str], "The physical clusters in force that it describes."]
    problems: Annotated[list[ProblemItem], "What is wrong with it now."]
    text: NotRequired[str]


class ClusterFileList(TypedDict):
    items: Annotated[list[ClusterFileOut], "The files in the order of their names, without their texts."]


class ClusterFileChange(TypedDict):
    name: str
    isWritten: Annotated[bool, "False for a dry run."]
    problems: Annotated[list[ProblemItem], "What `muster cluster check` would say. Only a dry run answers some."]
    warnings: Annotated[list[str], "Names in access lists that nobody has."]
    diff: Annotated[str, "The difference as `diff -u` writes it. Values of passwords are hidden."]
    sha256: Annotated[str | None, "The digest of the version that is there now; null if there is none."]
