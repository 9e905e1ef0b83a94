"""Values of a Python file are read without running it, and what cannot be read is named with its line."""

from pathlib import Path
from typing import Any

import pytest

from muster.lib.python_literals import Unreadable, keyword_arguments

pytestmark = pytest.mark.fast


def read(text: str) -> dict[str, Any]:
    return keyword_arguments(text.encode(), "conf.py", "cluster_config")


def test_literals_names_and_texts_put_together_are_read() -> None:
    found = read(
        "from paddle.trainer_config_helpers import *\n"
        "BASE: str = '/app/' + 'idl'\n"
        "PORT = 54310\n"
        "define_py_data_sources2(train_list=make(), test_list=None)\n"
        "cluster_config(\n"
        "    fs_name='hdfs://host:%d' % PORT,\n"
        "    work_dir=f'{BASE}/wd',\n"
        "    train_data_path='{}/train/{n:03d}'.format(BASE, n=7),\n"
        "    has_meta_data=True, port=-1, mail_address=None, hosts=('a', 'b'),\n"
        "    **{'comment': 'c'},\n"
        ")\n"
    )
    assert found == {
        "fs_name": "hdfs://host:54310",
        "work_dir": "/app/idl/wd",
        "train_data_path": "/app/idl/train/007",
        "has_meta_data": True,
        "port": -1,
        "mail_address": None,
        "hosts": ["a", "b"],
        "comment": "c",
    }


def test_a_file_without_the_call_need_not_even_be_python() -> None:
    assert read("print 'python 2'\n") == {}
    assert read("# cluster_config is not called\n") == {}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("import os\ncluster_config(a=os.environ['HOME'])", 2, "os.environ"),
        ("x = open('f').read()\ncluster_config(a=x)", 2, "the name x: line 1 gives it something else than a literal"),
        ("if 1:\n    x = 'a'\ncluster_config(a=x)", 3, "the name x: line 2 sets it in another way"),
        ("from y import x\ncluster_config(a=x)", 2, "the name x: line 1 sets it in another way"),
        ("x = 'a'\ndel x\ncluster_config(a=x)", 3, "the name x"),
        ("cluster_config(a=nobody)", 1, "the name nobody: no literal is assigned to it above"),
        ("cluster_config(\n  a=[1 for _ in range(9)])", 2, "for _ in"),
        ("cluster_config(a='x' * 99)", 1, "* 99"),
        ("cluster_config(a='%999999999d' % 1)", 1, "% 1"),
        ("cluster_config(a='{0.__class__}'.format(1))", 1, "format"),
        ("cluster_config(a=f'{1!r}')", 1, "f-string"),
        ("cluster_config(a='%d' % 'x')", 1, "cannot be known"),
        ("cluster_config('x')", 1, "takes its values by name"),
        ("cluster_config(**[1])", 1, "** needs a dict"),
        ("cluster_config()\ncluster_config()", 2, "a second time"),
        ("def f():\n    cluster_config()", 2, "top level"),
        ("print 'x'\ncluster_config()", 1, "no Python 3"),
        ("cluster_config(a=" + "(" * 300 + ")" * 300 + ")", 1, ""),
        ("cluster_config()\0", 1, ""),
    ],
)
def test_what_cannot_be_read_is_named_with_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read(text)
    assert str(refused.value).startswith(f"conf.py:{line}: ")
    assert words in str(refused.value)


def test_no_text_of_the_file_is_in_a_message() -> None:
    with pytest.raises(Unreadable) as refused:
        read("cluster_config(fs_ugi=decode('user,password'))")
    assert "password" not in str(refused.value)


def test_nothing_is_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    code = f"cluster_config(a=__import__('pathlib').Path({str(made)!r}).touch())"
    with pytest.raises(Unreadable):
        read(code)
    assert not made.exists()
