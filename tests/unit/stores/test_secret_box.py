"""Encryption of secrets: bound to owner and name, by keys in a private file."""

import stat
from pathlib import Path

import pytest

from muster.domain.errors import Unavailable
from muster.settings.secret_keys import SecretKeyFile
from muster.stores.secret_box import AesSecretBox

pytestmark = pytest.mark.fast
VALUE = b"hunter2 \xff\x00"


@pytest.fixture
def file(tmp_path: Path) -> SecretKeyFile:
    made = SecretKeyFile(tmp_path / "secrets-key")
    made.add()
    return made


def test_a_value_opens_for_its_owner_and_name_only(file: SecretKeyFile) -> None:
    box = AesSecretBox(file)
    sealed = box.seal("u1", "wandb", VALUE)
    assert box.open("u1", "wandb", sealed) == VALUE
    assert "hunter2" not in sealed
    for owner, name in (("u2", "wandb"), ("u1", "other")):
        with pytest.raises(Unavailable, match="cannot be decrypted"):
            box.open(owner, name, sealed)


def test_the_same_value_is_sealed_differently_each_time(file: SecretKeyFile) -> None:
    box = AesSecretBox(file)
    assert box.seal("u1", "wandb", VALUE) != box.seal("u1", "wandb", VALUE)


@pytest.mark.parametrize(
    "change", [lambda text: text[:-8] + "AAAAAAA=", lambda text: text + "!", lambda text: text[:20]]
)
def test_a_sealed_value_that_was_changed_is_refused(file: SecretKeyFile, change) -> None:  # type: ignore[no-untyped-def]
    box = AesSecretBox(file)
    with pytest.raises(Unavailable):
        box.open("u1", "wandb", change(box.seal("u1", "wandb", VALUE)))


def test_another_key_says_which_key_is_missing_and_what_to_do(file: SecretKeyFile, tmp_path: Path) -> None:
    sealed = AesSecretBox(file).seal("u1", "wandb", VALUE)
    other = SecretKeyFile(tmp_path / "other")
    other.add()
    with pytest.raises(Unavailable, match="which this server does not have") as refused:
        AesSecretBox(other).open("u1", "wandb", sealed)
    assert "secretsKeyFile" in refused.value.hint


def test_a_new_key_encrypts_at_once_and_older_ones_still_open(file: SecretKeyFile) -> None:
    box = AesSecretBox(file)
    before = box.seal("u1", "wandb", VALUE)
    file.add()
    after = box.seal("u1", "wandb", VALUE)
    assert before.split(":")[1] != after.split(":")[1]
    assert box.open("u1", "wandb", before) == box.open("u1", "wandb", after) == VALUE
    assert file.keep_newest() == 1
    assert box.open("u1", "wandb", after) == VALUE
    with pytest.raises(Unavailable):
        box.open("u1", "wandb", before)


def test_only_the_owner_can_read_the_file(file: SecretKeyFile) -> None:
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.path.chmod(0o644)
    with pytest.raises(Unavailable, match="others can read"):
        file.read()


@pytest.mark.parametrize("text", ["", "abc\n", "00" * 31 + "\n", "not hexadecimal\n"])
def test_a_file_without_keys_is_refused_and_not_replaced(file: SecretKeyFile, text: str) -> None:
    file.path.write_text(text)
    for use in (file.read, file.add):
        with pytest.raises(Unavailable):
            use()
    assert file.path.read_text() == text


def test_without_a_file_there_is_no_key(tmp_path: Path) -> None:
    box = AesSecretBox(SecretKeyFile(tmp_path / "none"))
    assert not box.has_key()
    box.make_key()
    assert box.has_key()
