"""Opens the folders of a test to other accounts, which the tasks of plain users run under."""

import stat
from pathlib import Path


def let_all_pass(folder: Path) -> None:
    """Lets every account pass through all folders on the way to this one."""
    for path in (folder, *folder.parents):
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & stat.S_IXOTH:
            path.chmod(mode | stat.S_IXOTH)


def open_to_all(folder: Path) -> None:
    """Lets every account read and write in this folder, too."""
    let_all_pass(folder)
    folder.chmod(0o777)
