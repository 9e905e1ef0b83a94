"""The agent's own folders inside a folder where other accounts may have prepared something.

The agent's archive is run from there, so nobody else may be able to put anything in its place. The source of this
module is also sent to nodes ahead of the agent, so it imports nothing of Muster, and any Python 3 can read it.
"""

import os
import pwd
import stat

ARCHIVES = "agents"
_MOST_LINKS = 40
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnsafeFolder(OSError):
    """Its message is a sentence that says which folder it is, whose it is, and what to do."""


def shared_root(path: str) -> str:
    """The real path of a folder that is safe to make own folders in. Makes it, but not the folder that it is in. Nobody
    else may be able to put another one in its place either, so all folders and links on the way count."""
    root = _real_path(path)
    try:
        os.mkdir(root, 0o755)
    except FileExistsError:
        pass
    except FileNotFoundError:
        words = "the folder {} does not exist, and neither does {}: make it, or name another folder"
        raise UnsafeFolder(words.format(root, os.path.dirname(root))) from None
    found = os.stat(root)
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolder("{} is not a folder: name another one".format(root))
    if _is_strange(found):
        words = (
            "the folder {} belongs to {}, who could replace what Muster runs there, or may have prepared it: "
            "remove it, or name another folder"
        )
        raise UnsafeFolder(words.format(root, _account(found.st_uid)))
    if _is_open_to_others(found):
        words = (
            "the folder {} of {} can be written by other accounts, which could replace what Muster runs there: "
            "`chmod go-w {}` or `chmod +t {}`, or name another folder"
        )
        raise UnsafeFolder(words.format(root, _account(found.st_uid), root, root))
    return root


def own_folder(root: str, name: str) -> str:
    """A folder in `root` that only this account can write to. One that somebody else has prepared is refused."""
    path = os.path.join(root, name)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise _prepared(path, found, "is not a folder")
    if found.st_uid != os.geteuid():
        raise _prepared(path, found, "is not of {}, as which Muster runs there".format(_account(os.geteuid())))
    if found.st_mode & _OTHERS_WRITE:
        raise _prepared(path, found, "can be written by other accounts")
    return path


def _real_path(path: str) -> str:
    """Follows the path as the system does. What does not exist of it is left as it is."""
    here, left, links = "/", os.path.join(os.getcwd(), path).split("/"), 0
    while left:
        part = left.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            here = os.path.dirname(here)
            continue
        _check_around(here, path)
        entry = os.path.join(here, part)
        try:
            found = os.lstat(entry)
        except FileNotFoundError:
            return os.path.normpath(os.path.join(entry, *left))
        if not stat.S_ISLNK(found.st_mode):
            here = entry
            continue
        if _is_strange(found):
            words = "the link {} belongs to {}, who could let it lead elsewhere: remove it, or name another folder"
            raise UnsafeFolder(words.format(entry, _account(found.st_uid)))
        links += 1
        if links > _MOST_LINKS:
            raise UnsafeFolder("the path {} leads over too many links: name another folder".format(path))
        target = os.readlink(entry)
        here = "/" if target.startswith("/") else here
        left = target.split("/") + left
    return here


def _check_around(folder: str, path: str) -> None:
    """Refuse a folder whose entries others can rename: they could put another in the place of the path."""
    found = os.stat(folder)
    if _is_strange(found):
        words = (
            "the folder {}, on the way to {}, belongs to {}, who could put something else in place of what Muster runs "
            "there: name a folder elsewhere, in folders of root or {}"
        )
        raise UnsafeFolder(words.format(folder, path, _account(found.st_uid), _account(os.geteuid())))
    if _is_open_to_others(found):
        words = (
            "the folder {}, on the way to {}, can be written by other accounts, which could put something else in "
            "place of what Muster runs there: `chmod go-w {}` or `chmod +t {}`, or name a folder elsewhere"
        )
        raise UnsafeFolder(words.format(folder, path, folder, folder))


def _is_strange(found: os.stat_result) -> bool:
    return found.st_uid not in (0, os.geteuid())


def _is_open_to_others(found: os.stat_result) -> bool:
    """In a sticky folder, nobody can rename what is not theirs. The group of an account is mostly its own."""
    if found.st_mode & stat.S_ISVTX:
        return False
    is_others_group = found.st_gid not in (0, os.getegid())
    return bool(found.st_mode & (_OTHERS_WRITE if is_others_group else stat.S_IWOTH))


def _prepared(path: str, found: os.stat_result, why: str) -> UnsafeFolder:
    """What is in such a folder cannot be trusted either, so a change of its owner would not do."""
    words = "{}, which belongs to {}, {}: somebody may have prepared it, so remove it, or name another folder"
    return UnsafeFolder(words.format(path, _account(found.st_uid), why))


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "the account with the number {}".format(uid)
