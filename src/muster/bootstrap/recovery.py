"""`muster server recover-admin`, which runs on the server's own machine: whoever can read the database is its admin.

It works whether the server runs or not. A running server notices the change within seconds.
"""

import argparse
import asyncio
import getpass
import sys
from collections.abc import Sequence

from muster.bootstrap.error_printing import print_error
from muster.domain.accounts import UserRole
from muster.domain.errors import MusterError
from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts
from muster.settings.server import ServerSettings, load_settings
from muster.stores.opening import open_store

TOKEN_LIFETIME_S = 3600.0
ACTOR = "recover-admin"


async def recover_admin(settings: ServerSettings, name: str) -> str:
    """Makes the user an admin who is not disabled, or creates one. Returns a token that lasts an hour."""
    store = await open_store(settings.database_url)
    try:
        context = Context(
            store, {}, "", settings.home / "logs", settings.home / "packages", limits=settings.limits.limits()
        )
        accounts = Accounts(context, TOKEN_LIFETIME_S)
        if await store.user(name) is None:
            user = await accounts.create_user(name, UserRole.ADMIN, None, actor=ACTOR)
        else:
            user = await accounts.change_user(name, actor=ACTOR, role=UserRole.ADMIN, disabled=False)
        _, secret = await accounts.create_token(user, ACTOR, TOKEN_LIFETIME_S, actor=ACTOR)
        return secret
    finally:
        await store.close()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster server recover-admin")
    parser.add_argument("name", nargs="?", default=None)
    parser.add_argument("--home")
    parser.add_argument("--config")
    given = vars(parser.parse_args(argv))
    name = given.pop("name") or getpass.getuser()
    try:
        secret = asyncio.run(recover_admin(load_settings(given), name))
    except MusterError as error:
        print_error(error)
        return 1
    sys.stdout.write(f"{secret}\n")
    sys.stderr.write(
        f"{name} is an admin; the token lasts an hour (set MUSTER_TOKEN, or `muster login --token-stdin`)\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
