"""Passwords that somebody wrote into a cluster file are shown to nobody, however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.settings.masked_text import MASK, masked, masked_line

pytestmark = pytest.mark.fast
SECRET = "hunter2-geheim"


@pytest.mark.parametrize(
    "text",
    [
        f"defaults:\n  password: {SECRET}\n",
        f"password:    {SECRET}   # mine\n",
        f"Password: {SECRET}\n",
        f'"password": "{SECRET}, and more"\n',
        f"nodes: [{{name: a, password: {SECRET}}}, {{name: b}}]\n",
        f'nodes: [{{name: a, "psw": "a,}} {SECRET}"}}]\n',
        f"nodes:\n- password: {SECRET}\n  host: h\n",
        f"password: |\n  {SECRET}\n  {SECRET}2\nname: lab\n",
        f"password:\n  {SECRET}\n",
        f'password: "one\n  {SECRET}"\n',
        f"{{password:\n   {SECRET}\n}}\n",
        f"backend: [\npassword: {SECRET}\n",
        f"proxy: http://me:{SECRET}@10.0.0.1:3128\n",
        f"token: {SECRET}\napiKey: {SECRET}\n",
        f"key: |\n  -----BEGIN OPENSSH PRIVATE KEY-----\n  {SECRET}\n  -----END OPENSSH PRIVATE KEY-----\nname: lab\n",
        f"password: {SECRET}\ndescription: the password is {SECRET}\n",
    ],
)
def test_a_secret_is_hidden(text: str) -> None:
    shown = masked(text)
    assert SECRET not in shown
    assert MASK in shown
    assert len(shown.split("\n")) == len(text.split("\n"))
    assert masked_line(shown) is not None


@pytest.mark.parametrize(
    "text",
    [
        "backend: ssh\ndefaults: {user: me, keyFile: lab.key, passwordFile: secrets/lab}\nnodes: [{name: a}]\n",
        "name: lab\ndescription: ask for the password\n",
        "# password: see the safe\nbackend: ssh\n",
        "nodesFile: https://10.0.0.1:80/list\n",
    ],
)
def test_files_that_are_only_named_and_words_in_texts_are_shown(text: str) -> None:
    assert masked(text) == text or text.startswith("#")


@given(st.text(), st.sampled_from(["password: ", "- {psw: ", "a: b\n  password: |\n    "]))
def test_no_text_breaks_it_and_lines_stay(rest: str, begin: str) -> None:
    text = begin + rest
    assert masked(text).count("\n") == text.count("\n")
