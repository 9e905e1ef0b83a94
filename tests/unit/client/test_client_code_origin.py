"""What a submission says of the commit of its code."""

import os
import subprocess
from pathlib import Path

import pytest

from muster.client.code_origin import labels_of_code, shown_remote, with_labels

AUTHOR = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *AUTHOR, "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "work/lr")
    (folder / "src" / "train.py").write_text("print(1)\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "remote", "add", "origin", "https://ada:secret@git.example.org:8443/nets.git?token=secret")
    return folder


def test_the_commit_branch_and_remote_of_a_folder_in_a_repository_are_told(repository: Path) -> None:
    assert labels_of_code(repository / "src") == {
        "git-commit": git(repository, "rev-parse", "HEAD"),
        "git-branch": "work/lr",
        "git-remote": "https://git.example.org:8443/nets.git",
    }


def test_packed_refs_a_detached_head_and_a_worktree_are_read(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "pack-refs", "--all")
    assert labels_of_code(repository)["git-commit"] == commit
    tree = repository.parent / "tree"
    git(repository, "worktree", "add", "-q", "-b", "other", str(tree))
    assert (labels_of_code(tree)["git-commit"], labels_of_code(tree)["git-branch"]) == (commit, "other")
    git(repository, "checkout", "-q", "--detach")
    found = labels_of_code(repository)
    assert (found["git-commit"], "git-branch" in found) == (commit, False)


def test_without_a_repository_or_a_commit_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert labels_of_code(tmp_path) == {}
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/none\n")
    assert labels_of_code(tmp_path) == {}


@pytest.mark.parametrize(
    ("settings", "attributes"),
    [
        ('[filter "evil"]\nclean = touch {mark}; cat\n', "* filter=evil\n"),
        (
            "[extensions]\npartialClone = origin\n"
            '[remote "origin"]\nurl = .\npromisor = true\nuploadpack = touch {mark}; false\n',
            "",
        ),
        ("[core]\nfsmonitor = touch {mark}; false\n", ""),
    ],
    ids=["filter", "lazy fetch", "fsmonitor"],
)
def test_nothing_that_a_repository_names_is_run(repository: Path, settings: str, attributes: str) -> None:
    mark = repository.parent / "was-run"
    with (repository / ".git" / "config").open("a") as config:
        config.write("[core]\nrepositoryformatversion = 1\n" + settings.format(mark=mark))
    (repository / ".gitattributes").write_text(attributes)
    (repository / "src" / "train.py").write_text("print(2)\n")
    assert labels_of_code(repository)["git-branch"] == "work/lr"
    assert not mark.exists()


def test_only_regular_files_inside_the_repository_are_read(repository: Path) -> None:
    git_folder, key = repository / ".git", repository.parent / "key"
    key.write_text("0123456789" * 4)
    head = git_folder / "HEAD"
    head.write_text("ref: refs/heads/../../../../key\n")
    assert labels_of_code(repository) == {}
    head.write_text("ref: refs/heads/linked\n")
    (git_folder / "refs" / "heads" / "linked").symlink_to(key)
    assert labels_of_code(repository) == {}
    (git_folder / "refs" / "away").symlink_to(repository.parent)
    head.write_text("ref: refs/away/key\n")
    assert labels_of_code(repository) == {}
    head.unlink()
    head.symlink_to("/dev/zero")
    assert labels_of_code(repository) == {}
    head.unlink()
    os.mkfifo(head)
    assert labels_of_code(repository) == {}


def test_a_file_that_names_a_folder_which_is_none_of_git_is_not_followed(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    assert labels_of_code(other) == {}


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("git@git.example.org:nets.git", "git.example.org:nets.git"),
        ("oauth2:TOKEN@host:g/r.git", ""),
        ("ssh://ada:secret@host:22/x.git", "ssh://host:22/x.git"),
        ("https://token@host/x", "https://host/x"),
        ("https://host/x?token=secret#secret", "https://host/x"),
        ("https::https://bob:secret@host/x/y", ""),
        ("https://host/https://bob:secret@host/x", ""),
        ("https://host:port/x", ""),
        ("ext::sh -c secret", ""),
        ("file:///srv/nets.git", ""),
        ("/srv/nets.git", ""),
        ("", ""),
    ],
)
def test_a_remote_is_told_without_credentials_and_paths_of_this_machine_are_not(url: str, told: str) -> None:
    assert shown_remote(url) == told


def test_what_the_user_sets_stays() -> None:
    labels = {"git-commit": "a", "git-branch": "b"}
    body = with_labels({"set": {"labels.git-commit": "mine", "name": "x"}}, labels)
    assert body["set"] == {"labels.git-commit": "mine", "labels.git-branch": "b", "name": "x"}
    assert with_labels({"set": {"labels": {}}}, labels) == {"set": {"labels": {}}}
    assert with_labels({"spec": 1}, {}) == {"spec": 1}
