"""Who may use a template, and what may not be in one."""

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.templates import MAX_BYTES, MAX_FILES, Template, secrets_in, wrong_files
from muster.wire.specs import read_spec

pytestmark = pytest.mark.fast

AMY = User("amy", UserRole.USER, 1.0, id="u-amy", groups=("vision",))
BOB = User("bob", UserRole.USER, 1.0, id="u-bob", groups=("vision", "speech"))
EVE = User("eve", UserRole.USER, 1.0, id="u-eve")
OTHER_AMY = User("amy", UserRole.USER, 1.0, id="u-other")
ROOT = User("root", UserRole.ADMIN, 1.0, id="u-root")


@pytest.mark.parametrize(
    ("group", "everyone", "users"),
    [("", False, [AMY, ROOT]), ("vision", False, [AMY, BOB, ROOT]), ("", True, [AMY, BOB, EVE, OTHER_AMY, ROOT])],
)
def test_author_admins_and_the_audience_may_use_it(group: str, everyone: bool, users: list[User]) -> None:
    template = Template("t", 1, AMY.id, "amy", 1.0, group=group, everyone=everyone)
    assert [user for user in (AMY, BOB, EVE, OTHER_AMY, ROOT) if template.may_use(user)] == users
    assert [user for user in (AMY, BOB, EVE, OTHER_AMY, ROOT) if template.may_replace(user)] == [AMY, ROOT]


@pytest.mark.parametrize(
    "files",
    [
        {"train.py": ""},
        {"job.yaml": "", "/etc/passwd": ""},
        {"job.yaml": "", "a/../../b": ""},
        {"job.yaml": "", "a//b": ""},
        {"job.yaml": "", "a\x1b": ""},
        {"job.yaml": "", ".git/config": ""},
        {"job.yaml": "", "src/.ssh/authorized_keys": ""},
        {"job.yaml": "", ".envrc": ""},
        {"job.yaml": "", ".gitignore/x": ""},
        {"job.yaml": "x" * (MAX_BYTES + 1)},
        {"job.yaml": "", **{f"f{n}": "" for n in range(MAX_FILES)}},
    ],
)
def test_files_that_no_template_may_have_are_refused(files: dict[str, str]) -> None:
    assert len(list(wrong_files(files))) == 1


def test_good_files_are_not_refused() -> None:
    assert (
        list(
            wrong_files(
                {"job.yaml": "", "src/train.py": "", "src/.gitignore": "", ".musterignore": "", ".dockerignore": ""}
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ("env: {WANDB_API_KEY: 0a1b2c3d}", "env.WANDB_API_KEY"),
        ("env: {DB_PASSWORD: hunter2}", "env.DB_PASSWORD"),
        ("params: {token: abcdef}", "params.token"),
        ("roles: {w: {command: x, env: {AWS_SECRET_ACCESS: abc}}}", "roles.w.env.AWS_SECRET_ACCESS"),
    ],
)
def test_values_that_look_like_secrets_are_found(part: str, path: str) -> None:
    spec = read_spec(f"name: a\n{'' if 'roles' in part else 'command: x'}\n{part}\n")
    assert [problem.path for problem in secrets_in(spec, {})] == [path]


@pytest.mark.parametrize(
    "part",
    [
        "env: {MAX_TOKENS: '512', TOKENIZER: bert, MONKEY: x}",
        "env: {SORT_KEY: '', KEY: '3', HF_TOKEN: '$OTHER', SSL_KEY: /etc/key, USE_TOKEN: 'true'}",
        "params: {key_dim: 64, lr: 0.1}",
    ],
)
def test_values_that_are_no_secrets_pass(part: str) -> None:
    assert list(secrets_in(read_spec(f"name: a\ncommand: x\n{part}\n"), {})) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".env", "A=1"),
        ("keys/id_ed25519", ""),
        ("a.pem", ""),
        ("train.py", "key = '''-----BEGIN RSA PRIVATE KEY-----'''"),
        ("train.py", f"token = 'ghp_{'a' * 36}'"),
        ("train.py", f"token = 'hf_{'b' * 34}'"),
        ("train.py", "AKIA0123456789ABCDEF"),
    ],
)
def test_files_with_what_looks_like_a_secret_are_found(path: str, text: str) -> None:
    found = list(secrets_in(read_spec("name: a\ncommand: x"), {path: text, "ok.py": "print(1)"}))
    assert [str(problem).partition(",")[0] for problem in found] == [f"files: {path} has what looks like a secret"]
    assert "ghp_" not in str(found)
