"""The API of paddlecloud's server and of its file server, for its original client.

Paths, fields and errors are those of paddlecloud; the use cases and the rights are Muster's own. A data centre is a
cluster, a user's namespace are their own jobs, and the storage are the folders `home` and `public` of the cluster.
"""

from fastapi import FastAPI

from muster.server.compatibility.paddlecloud import (
    chunks,
    files,
    jobs,
    pfs,
    publish,
    quota,
    registry,
    tokens,
    workers,
)
from muster.server.middleware import OF_LOGINS, BodyLimit

ROUTERS = (
    *(module.router for module in (tokens, jobs, workers, quota, registry, files, publish, pfs, chunks)),
    *(module.bytes_router for module in (files, publish, chunks)),
)
_OVERHEAD = 64 << 10
"""The boundaries and headers of a multipart body."""


def install(app: FastAPI) -> None:
    for router in ROUTERS:
        app.include_router(router)
    app.state.body_limits.update(dict.fromkeys(tokens.TOKEN_PATHS, OF_LOGINS))
    app.state.body_limits.update({path: BodyLimit(chunks.MAX_CHUNK + _OVERHEAD) for path in chunks.STORAGE_PATHS})
    streamed = BodyLimit(pfs.MAX_FILE_BYTES + _OVERHEAD, is_streamed=True)
    app.state.body_limits.update(dict.fromkeys(files.FILE_PATHS, streamed))
