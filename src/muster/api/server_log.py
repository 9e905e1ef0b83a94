"""The server's own log, as the API answers and streams it."""

from typing import Annotated, Any, TypedDict


class ServerLogPage(TypedDict):
    server: Annotated[str, "The address of the server whose log this is."]
    role: Annotated[str, "`acting` or `standby`."]
    items: Annotated[list[dict[str, Any]], "Entries, oldest first: `timestamp`, `level`, `event` and more."]
    nextCursor: Annotated[str, "Where the log goes on."]
