"""`muster server rotate-secrets-key`, which runs on the server's own machine, whether the server runs or not.

A running server reads the keys for each value, so the new key is used as soon as it is in the file. Older keys stay
until they are dropped: a backup may need them.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from muster.bootstrap.error_printing import print_error
from muster.bootstrap.first_run import own_user
from muster.domain.errors import Conflict, MusterError
from muster.domain.secrets import Secret
from muster.engine.state.event_builders import audit_event
from muster.settings.secret_keys import SecretKeyFile
from muster.settings.server import ServerSettings, load_settings
from muster.stores.opening import upgrade_database
from muster.stores.resealing import reseal, sealed
from muster.stores.secret_box import AesSecretBox


def rotate(settings: ServerSettings, *, drop_old: bool) -> str:
    """Returns what was done. If it is interrupted, all keys are still there."""
    file = SecretKeyFile(settings.secrets_key_path)
    upgrade_database(settings.database_url)
    box = AesSecretBox(file)
    found = sealed(settings.database_url)
    if not file.exists and not found:
        raise Conflict(f"there is no key yet: {file.path} does not exist", hint="the first secret makes it")
    if lost := box.unreadable(found):
        names = ", ".join(f"{one.name} of {one.owner}" for one in lost)
        missing = "does not exist" if not file.exists else "does not have their keys"
        raise Conflict(
            f"{len(lost)} secrets cannot be decrypted, because {file.path} {missing}: {names}",
            hint="put the key back into the file from a copy or a backup; if it is lost, let the owners run"
            " `muster secret set NAME` or `muster delete secret/NAME`, and rotate then",
        )

    def resealed(secret: Secret) -> str:
        value = box.open(secret.owner_id, secret.name, secret.sealed)
        return box.seal(secret.owner_id, secret.name, value)

    file.add()
    rotated = audit_event("secrets-key.rotate", own_user(settings.home), time.time())
    count = reseal(settings.database_url, resealed, rotated)
    said = f"encrypted {count} secrets with a new key in {file.path}"
    if not drop_old:
        return f"{said}; older keys are kept for older backups (--drop-old removes them)"
    dropped = audit_event("secrets-key.drop-old", own_user(settings.home), time.time())
    reseal(
        settings.database_url, resealed, dropped
    )  # a server may have stored one meanwhile that it had encrypted before
    return f"{said}; removed {file.keep_newest()} older keys"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster server rotate-secrets-key")
    parser.add_argument("--drop-old", action="store_true")
    parser.add_argument("--home")
    parser.add_argument("--config")
    given = parser.parse_args(argv)
    try:
        settings = load_settings({"home": given.home, "config": given.config})
        sys.stdout.write(rotate(settings, drop_old=given.drop_old) + "\n")
    except MusterError as error:
        print_error(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
