"""The text that is kept of a job file has no secret in it."""

import pytest
import yaml

from muster.server.compatibility.openpai.kept_files import MASK, kept_text

pytestmark = pytest.mark.fast

PLAIN = "protocolVersion: 2  # ours\nname: a\n"


def test_a_file_without_secrets_is_kept_to_the_letter() -> None:
    assert kept_text(PLAIN) == PLAIN
    assert kept_text(PLAIN + "secrets: {}\n") == PLAIN + "secrets: {}\n"


def test_secrets_are_masked_and_everything_else_stays() -> None:
    kept = kept_text(
        PLAIN
        + "secrets: {token: hunter2hunter2, pin: 123456, short: abc, nested: {deep: [longest-secret]}}\n"
        + "parameters: {lr: 0.1, n: 3, letters: abcdef}\n"
        + "# the token is hunter2hunter2\n"
    )
    assert "hunter2" not in kept
    assert "123456" not in kept
    assert "longest-secret" not in kept
    assert yaml.safe_load(kept) == {
        "protocolVersion": 2,
        "name": "a",
        "secrets": {"token": MASK, "pin": MASK, "short": MASK, "nested": {"deep": [MASK]}},
        "parameters": {"lr": 0.1, "n": 3, "letters": "abcdef"},
    }


def test_a_secret_is_masked_where_a_command_repeats_it() -> None:
    kept = kept_text("secrets: {token: hunter2hunter2}\ncommands: ['curl -H hunter2hunter2 x']\n")
    assert yaml.safe_load(kept)["commands"] == [f"curl -H {MASK} x"]


def test_credentials_of_an_image_are_masked_unless_they_refer_to_a_secret() -> None:
    image = "prerequisites: [{type: dockerimage, name: i, uri: u, auth: {username: me, password: %s}}]\n"
    assert yaml.safe_load(kept_text(image % "pass-word"))["prerequisites"][0]["auth"] == {
        "username": "me",
        "password": MASK,
    }
    referring = image % "<% $secrets.docker_password %>"
    assert kept_text(referring) == referring


def test_an_alias_of_a_secret_is_masked_too() -> None:
    kept = kept_text("secrets: {token: &t hunter2hunter2}\nparameters: {copy: *t}\n")
    assert yaml.safe_load(kept) == {"secrets": {"token": MASK}, "parameters": {"copy": MASK}}
