"""Warns in the server's log of names in access lists that let in nobody."""

import structlog

from muster.domain.access_names import unknown_names
from muster.domain.errors import MusterError
from muster.engine.context import Context

_log = structlog.get_logger("engine.access")


async def warn_of_unknown_names(context: Context) -> None:
    try:
        users = await context.store.users()
    except MusterError as error:
        _log.warning("the names in access lists were not checked", error=str(error))
        return
    if problems := unknown_names(context.config.physical, context.config.virtual.values(), users):
        _log.warning("access lists name unknown users or groups", problems=problems)
