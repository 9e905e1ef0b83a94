"""Secrets of jobs: looked up at each launch, for the owner of the job only."""

from pathlib import Path

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.errors import Conflict, Forbidden, Invalid, TooLarge, Unavailable
from muster.domain.jobs import Failed
from muster.domain.limits import Limits
from muster.domain.specs import SecretUse
from muster.engine.data.secrets import lost_secrets, remove_secret, set_secret
from muster.engine.requests import changing, commands
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.dry_running import dry_run
from muster.engine.requests.schedule import LookAhead
from muster.settings.secret_keys import SecretKeyFile
from muster.stores.secret_box import AesSecretBox
from tests.parts.building import a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
KEY = SecretUse("key", "API_KEY")


@pytest.fixture
async def amy(lab: Laboratory, tmp_path: Path) -> User:
    lab.context.secret_box = AesSecretBox(SecretKeyFile(tmp_path / "secrets-key"))
    return await Accounts(lab.context, 3600.0).create_user("amy", UserRole.USER, None, actor="root")


async def test_every_launch_uses_the_present_value(lab: Laboratory, amy: User) -> None:
    await set_secret(lab.context, amy, "key", b"first")
    job_id = await lab.submit(a_spec(secrets=(KEY,), retry_max=1))
    await lab.becomes(job_id, "Running")
    (task,) = lab.backend.of(job_id, 1)
    assert lab.backend.secrets_given[task] == {"key": b"first"}
    await set_secret(lab.context, amy, "key", b"second")
    lab.backend.end(task, 1)
    await lab.becomes(job_id, "Queued")
    lab.pass_time(3600)
    await lab.until(lambda: lab.backend.of(job_id, 2))
    (task,) = lab.backend.of(job_id, 2)
    assert lab.backend.secrets_given[task] == {"key": b"second"}


async def test_a_job_whose_secret_was_deleted_fails_at_once_and_says_why(lab: Laboratory, amy: User) -> None:
    await set_secret(lab.context, amy, "key", b"value")
    job_id = await lab.submit(a_spec(secrets=(KEY,), retry_max=5, held=True))
    await remove_secret(lab.context, amy, "key", actor="amy")
    await commands.resume(lab.context, job_id, "amy")
    job = await lab.becomes(job_id, "Failed")
    assert isinstance(job.state, Failed)
    assert job.state.fault is not None
    assert job.state.fault.code == "secret"
    assert "amy has no secret key any more" in job.reason
    assert job.attempt == 1
    assert lab.backend.starts == {}


async def test_a_secret_that_became_binary_cannot_be_a_variable(lab: Laboratory, amy: User) -> None:
    await set_secret(lab.context, amy, "key", b"value")
    job_id = await lab.submit(a_spec(secrets=(KEY,), held=True))
    await set_secret(lab.context, amy, "key", b"\xff")
    await commands.resume(lab.context, job_id, "amy")
    assert "key is binary" in (await lab.becomes(job_id, "Failed")).reason
    with pytest.raises(Invalid) as refused:
        await lab.submit(a_spec(secrets=(KEY,), name="again"))
    assert refused.value.problems[0].path == "secrets[0].env"


async def test_a_secret_of_another_key_fails_the_job_and_names_the_key_file(
    lab: Laboratory, amy: User, tmp_path: Path
) -> None:
    await set_secret(lab.context, amy, "key", b"value")
    other = SecretKeyFile(tmp_path / "other", may_be_elsewhere=True)
    lab.context.secret_box = AesSecretBox(other)
    with pytest.raises(Unavailable, match=f"a key that this server does not have: {other.path}"):
        await set_secret(lab.context, amy, "new", b"value")
    assert not other.exists
    other.add()
    job = await lab.becomes(await lab.submit(a_spec(secrets=(KEY,))), "Failed")
    assert "encrypted with key" in job.reason


async def test_a_lost_key_is_replaced_and_each_secret_works_when_it_is_set_again(
    lab: Laboratory, amy: User, tmp_path: Path
) -> None:
    for name in ("key", "other"):
        await set_secret(lab.context, amy, name, b"value")
    assert await lost_secrets(lab.context) == []
    (tmp_path / "secrets-key").unlink()
    (problem,) = await lost_secrets(lab.context)
    assert problem.message.startswith("2 of 2 cannot be decrypted with the present key: key of amy, other of amy")
    await set_secret(lab.context, amy, "key", b"again")
    (problem,) = await lost_secrets(lab.context)
    assert problem.message.startswith("1 of 2 cannot be decrypted with the present key: other of amy")
    assert "muster secret set" in problem.hint
    job = await lab.becomes(await lab.submit(a_spec(secrets=(SecretUse("other", env="OTHER"),))), "Failed")
    assert "secret other was encrypted with key" in job.reason
    await set_secret(lab.context, amy, "other", b"again")
    assert await lost_secrets(lab.context) == []


async def test_an_unknown_secret_is_a_problem_that_says_what_to_do(lab: Laboratory, amy: User) -> None:
    bob = await Accounts(lab.context, 3600.0).create_user("bob", UserRole.ADMIN, None, actor="root")
    await set_secret(lab.context, bob, "key", b"of bob")
    with pytest.raises(Invalid) as refused:
        await lab.submit(a_spec(secrets=(KEY,)))
    (problem,) = refused.value.problems
    assert (problem.path, problem.hint) == ("secrets[0].name", "create it: muster secret set key")


async def test_nobody_but_the_owner_changes_a_job_that_gets_secrets(lab: Laboratory, amy: User) -> None:
    await set_secret(lab.context, amy, "key", b"value")
    secret = await lab.submit(a_spec(secrets=(KEY,), held=True))
    plain = await lab.submit(a_spec(name="plain", held=True))
    for job_id in (secret, plain):
        with pytest.raises(Forbidden, match="it gets secrets of amy"):
            await changing.change(lab.context, job_id, "root", lambda _: a_spec(secrets=(KEY,), description="mine"))
    changed = await changing.change(lab.context, secret, "amy", lambda _: a_spec(secrets=(KEY,), description="mine"))
    assert changed.spec.description == "mine"


async def test_secrets_are_limited_in_number_and_size(lab: Laboratory, amy: User) -> None:
    lab.context.limits = Limits(secrets_per_user=1, secret_bytes=4)
    await set_secret(lab.context, amy, "key", b"1234")
    await set_secret(lab.context, amy, "key", b"4321")
    with pytest.raises(Conflict, match="amy has 1 secrets, 1 are allowed"):
        await set_secret(lab.context, amy, "other", b"1")
    with pytest.raises(TooLarge):
        await set_secret(lab.context, amy, "key", b"12345")
    with pytest.raises(Invalid):
        await set_secret(lab.context, amy, "key", b"")


async def test_no_value_is_in_events_rows_or_the_words_of_a_launch(lab: Laboratory, amy: User, tmp_path: Path) -> None:
    await set_secret(lab.context, amy, "key", b"hunter2")
    job_id = await lab.submit(a_spec(secrets=(KEY,)))
    await lab.becomes(job_id, "Running")
    shown = await dry_run(lab.context, LookAhead(), a_spec(secrets=(KEY,), name="dry"), "amy")
    assert "hunter2" not in f"{shown} {await lab.events()} {await lab.context.store.sealed_secrets(amy.id, ['key'])}"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
