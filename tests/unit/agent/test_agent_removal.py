"""Removing trees that belong to somebody who does not want them removed."""

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from muster.agent.system.removal import remove_tree

pytestmark = pytest.mark.fast


def nest(folder: Path, levels: int) -> None:
    """Deeper than a path can be long, and than Python's stack is."""
    script = "import os, sys\nfor _ in range(int(sys.argv[1])): os.mkdir('d'); os.chdir('d')\nopen('file', 'w').close()"
    subprocess.run([sys.executable, "-c", script, str(levels)], cwd=folder, check=True)


def test_a_tree_of_any_depth_is_removed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    nest(tree, 3000)
    (tree / "file").touch()
    remove_tree(str(tree))
    assert list(tmp_path.iterdir()) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tree"
    kept.mkdir(0o755)
    (kept / "file").touch()
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "link").symlink_to(kept)
    (tree / "link").symlink_to(kept / "file")
    remove_tree(str(tree))
    (tmp_path / "link").symlink_to(kept)
    remove_tree(str(tmp_path / "link"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()
    assert kept.stat().st_mode & 0o777 == 0o755


AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from muster.agent.system.removal import remove_tree
tree, mode = sys.argv[2] + "/tree", int(sys.argv[3])
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
os.makedirs(tree + "/a/b/c")
open(tree + "/a/b/file", "w").close()
for path in ("/a/b/c", "/a/b", "/a", ""):
    os.chmod(tree + path, mode)
remove_tree(tree)
assert os.listdir(sys.argv[2]) == []
"""


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o600], ids=oct)
def test_folders_without_rights_are_removed(mode: int) -> None:
    """As an account for which rights count: root has all of them."""
    source = str(Path(__file__).parents[3] / "src")
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o777)
        argv = [sys.executable, "-c", AS_NOBODY, source, shared, str(mode)]
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_is_swapped_for_a_link_meanwhile_changes_nothing_elsewhere(tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    outside.mkdir(0o755)
    (outside / "file").touch()
    tree.mkdir()
    (tmp_path / "link").symlink_to(outside)
    is_over = threading.Event()

    def swap() -> None:
        door = tree / "door"
        while not is_over.is_set():
            try:
                door.mkdir()
                (door / "file").touch()
                door.chmod(0o500)
                door.rename(tree / "aside")
                door.symlink_to(outside)
            except OSError:
                continue

    hostile = threading.Thread(target=swap)
    hostile.start()
    try:
        for _ in range(200):
            remove_tree(str(tree))
            tree.mkdir(exist_ok=True)
    finally:
        is_over.set()
        hostile.join()
    assert outside.stat().st_mode & 0o777 == 0o755
    assert (outside / "file").exists()
    remove_tree(str(tree))
    assert not tree.exists()
