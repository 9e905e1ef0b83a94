"""The keys by which the tasks of a job reach each other over SSH.

They are made with the first launch and kept for all attempts, encrypted, as secrets are. Their owner is the job and no
user, so that no list of secrets has them. The store removes them with the end of the job.
"""

from muster.domain.jobs import Job
from muster.domain.secrets import Secret, SecretKind, job_secrets_owner
from muster.engine.context import Context
from muster.engine.data.secrets import opened, require_key, secret_box
from muster.launch.ssh_access import HOST_KEY_SECRET, KEY_SECRET
from muster.ports.store import Change

_NAMES = (KEY_SECRET, HOST_KEY_SECRET)


async def ssh_key_values(context: Context, job: Job) -> dict[str, bytes]:
    """The values of both keys by the names under which tasks get them. Raises Rejected if they cannot be decrypted."""
    owner = job_secrets_owner(job.id)
    found = await context.store.sealed_secrets(owner, _NAMES)
    known = opened(context, found)
    for name in _NAMES:
        if name not in known:
            known[name] = await _made(context, owner, name)
    return known


async def _made(context: Context, owner: str, name: str) -> bytes:
    from muster.lib.ssh_keys import new_private_key

    value, now = new_private_key(), context.clock()
    await require_key(context)
    sealed = secret_box(context).seal(owner, name, value)
    await context.store.apply(Change(secret=Secret(owner, name, SecretKind.TEXT, len(value), now, now, sealed=sealed)))
    return value
