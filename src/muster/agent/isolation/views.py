"""What an isolated task sees of the file system, built of mounts in a namespace of its own.

A namespaced task sees the system read-only, what was listed for it, devices that belong to nobody and its own, and an
empty /tmp. All else is absent. A task that has only an account of its own sees everything that its account may read;
but where the folder of the task is below one that its account cannot pass, such as /root, that one is covered by an
empty folder which leads to the task's own.
"""

from __future__ import annotations

import os
import stat
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence, Tuple

from muster.agent.isolation import system_calls
from muster.agent.isolation.system_calls import BIND, NO_DEVICES, NO_EXEC, NO_SUID, PRIVATE, READ_ONLY, RECURSIVE

_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "snap", "sys")
_NAME_SERVICE = ("/run/systemd/resolve", "/run/nscd", "/run/resolvconf")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
_OLD, _NEW = "/old", "/new"
_SAFE = NO_SUID | NO_DEVICES


class Bind(NamedTuple):
    path: str
    read_only: bool


class RootFiles(NamedTuple):
    """Small files at the root: name and content, or None for an empty file that the owner may write."""

    contents: Sequence[Tuple[str, Optional[str]]]
    owner: Optional[Tuple[int, int]]
    """None means the account that makes the view."""


def cover(folder: str, binds: Iterable[Bind]) -> None:
    """Cover `folder` by an empty one in which only these paths exist. This process must have a copy of the mounts."""
    kept = [(bind, os.open(bind.path, os.O_PATH | os.O_CLOEXEC)) for bind in binds if _is_below(bind.path, folder)]
    system_calls.mount("muster", folder, "tmpfs", _SAFE, "mode=755")
    for bind, fd in kept:
        _bind("/proc/self/fd/{}".format(fd), bind.path, bind.read_only, stat.S_ISDIR(os.fstat(fd).st_mode))
        os.close(fd)


def replace_files(replaced: Sequence[Tuple[str, str]]) -> None:
    """Show other files in the place of these. This process must have a copy of the mounts."""
    for path, shown in replaced:
        system_calls.mount(shown, path, None, BIND)
        system_calls.set_flags(path, _SAFE | READ_ONLY)


def enter_system_view(
    workshop: str,
    binds: Sequence[Bind],
    devices: Sequence[str],
    replaced: Sequence[Tuple[str, str]],
    root_files: RootFiles,
) -> None:
    """Make the view the root of this process, which must be alone in new mount and process namespaces. `workshop` is
    any folder; it serves as a mount point for a moment."""
    # Where links lead is found out now: the old root will not be the root any more.
    sources = {bind: os.path.realpath(bind.path) for bind in binds}
    files = {path: os.path.realpath(path) for path in [*("/dev/" + name for name in _DEVICES), *devices]}
    system_calls.mount("none", "/", None, RECURSIVE | PRIVATE)
    system_calls.mount("muster", workshop, "tmpfs", _SAFE, "mode=755")
    for name in (_OLD, _NEW):
        os.mkdir(workshop + name, 0o755)
    system_calls.pivot_root(workshop, workshop + _OLD)
    os.chdir("/")
    system_calls.mount("muster", _NEW, "tmpfs", _SAFE, "mode=755")
    for name in _SYSTEM:
        _show_system("/" + name)
    replace_files([(_NEW + path, _OLD + shown) for path, shown in replaced])
    for path in _NAME_SERVICE:
        if os.path.isdir(_OLD + path):
            _show(Bind(path, read_only=True), path)
    _make_devices(files)
    for name in ("/tmp", "/var/tmp"):
        os.makedirs(_NEW + name, 0o755)
        system_calls.mount("muster", _NEW + name, "tmpfs", _SAFE, "mode=1777")
    for bind in sorted(binds):  # a folder before what is in it
        _show(bind, sources[bind])
    _write_at_root(root_files)
    os.mkdir(_NEW + "/proc", 0o555)
    system_calls.mount("proc", _NEW + "/proc", "proc", _SAFE | NO_EXEC)
    os.chdir(_NEW)
    system_calls.pivot_root(".", ".")
    system_calls.detach(".")
    os.chdir("/")


def uncover(folder: str) -> None:
    system_calls.detach(folder)


def blocked_ancestor(folder: str) -> Optional[str]:
    """The first folder on the way to this one that not everybody may pass."""
    parts = folder.strip("/").split("/")
    for count in range(1, len(parts)):
        path = "/" + "/".join(parts[:count])
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return path
    return None


def _show_system(path: str) -> None:
    if os.path.islink(_OLD + path):
        os.symlink(os.readlink(_OLD + path), _NEW + path)
    elif os.path.isdir(_OLD + path):
        _show(Bind(path, read_only=True), path)


def _show(bind: Bind, source: str) -> None:
    """A folder of the cluster that this node does not have is left out."""
    if os.path.exists(_OLD + source):
        _bind(_OLD + source, _NEW + bind.path, bind.read_only, os.path.isdir(_OLD + source))


def _write_at_root(files: RootFiles) -> None:
    for name, content in files.contents:
        path = "{}/{}".format(_NEW, name)
        if os.path.lexists(path):
            continue  # the system or a folder of the cluster has this name
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644 if content is None else 0o444)
        os.write(fd, (content or "").encode("utf-8"))
        if files.owner is not None and content is None:
            os.fchown(fd, *files.owner)
        os.close(fd)


def _make_devices(files: Mapping[str, str]) -> None:
    """`files` are those that the task sees, with where they really are."""
    folder = _NEW + "/dev"
    os.mkdir(folder, 0o755)
    system_calls.mount("muster", folder, "tmpfs", NO_SUID, "mode=755")
    for path, source in files.items():
        if os.path.exists(_OLD + source):
            _mount_point(_NEW + path, os.path.isdir(_OLD + source))
            system_calls.mount(_OLD + source, _NEW + path, None, BIND | RECURSIVE)
    for name in ("pts", "shm"):
        os.mkdir(os.path.join(folder, name), 0o755)
    system_calls.mount("muster", folder + "/shm", "tmpfs", _SAFE, "mode=1777")
    system_calls.mount("devpts", folder + "/pts", "devpts", NO_SUID | NO_EXEC, "newinstance,ptmxmode=0666,mode=620")
    for name, target in _DEVICE_LINKS.items():
        os.symlink(target, os.path.join(folder, name))


def _bind(source: str, target: str, read_only: bool, is_folder: bool) -> None:
    _mount_point(target, is_folder)
    system_calls.mount(source, target, None, BIND | RECURSIVE)
    system_calls.set_flags(target, _SAFE | (READ_ONLY if read_only else 0))


def _mount_point(path: str, is_folder: bool) -> None:
    os.makedirs(path if is_folder else os.path.dirname(path), 0o755, exist_ok=True)
    if not is_folder and not os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
