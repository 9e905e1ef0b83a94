"""Rules between the keys of a spec, which its models cannot express.

They check what was written, not the models, so that their problems are reported together with all others. A value of a
wrong type is left to the models.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from muster.domain.errors import Problem
from muster.domain.experiments.params import PARAM
from muster.domain.specs import PS_ROLE, WORKER_ROLE, Spread, Together
from muster.lib.nearest import nearest
from muster.wire.spec_schema import (
    MAX_DEPENDENCIES,
    MAX_INPUTS,
    MAX_MOUNTS,
    MAX_REPLICAS,
    MAX_SECRETS,
    MAX_TEXT,
    TEXT_HINT,
)

_PARAM_VARIABLE = re.compile(r"MUSTER_PARAM_([A-Za-z0-9_]+)")
MAX_TASK_BYTES = 1536 << 10
"""Linux starts no program whose arguments and variables have more than 2 MiB together, and some are Muster's own."""
MAX_LAUNCH_BYTES = 64 << 20
"""The most for the commands and variables of all tasks together, which are composed at once."""
_SEARCHED = 100
"""The most names that a hint is searched among and lists."""
_LONGEST_GUESSED = 200
_ROLE = re.compile(r"roles\.[^.]*\.")
_RESERVED = re.compile(r"(MUSTER_|LD_).*|.*_VISIBLE_DEVICES|CUDA_DEVICE_ORDER")
"""Variables that a secret cannot have: those of Muster, of the loader of programs and of the allocated GPUs."""
_OWN_SECRETS = ".muster"
"""The folder among the secrets for those that Muster itself gives a task."""
_FLAT_KEYS = (
    *("command", "args", "replicas", "min", "max", "resources", "ports", "stdin", "tty"),
    *("minFailed", "minSucceeded"),
)


def cross_checks(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yields the problems one by one, because the caller reads only as many as are reported."""
    for check in (
        *(_form, _roles, _arguments, _terminals, _elastic, _runtime, _after, _where),
        *(_inputs, _mounts, _secrets, _package_place, _setup, _params, _sizes),
    ):
        yield from check(data)


def _form(data: Mapping[str, Any]) -> Iterator[Problem]:
    flat = [key for key in _FLAT_KEYS if data.get(key) is not None]
    if data.get("roles") is not None:
        for key in flat:
            yield Problem(key, "cannot be used together with `roles`", f"move it to roles.{WORKER_ROLE}.{key}")
    elif data.get("command") is None and not _mapping(data.get("runtime")).get("image"):
        yield Problem(
            "command", "is required", "or `roles` with a command each, or `runtime.image` with one of its own"
        )
    if data.get("replicas") == 0:
        yield Problem("replicas", "must be at least 1")


def _terminals(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Refuse a terminal without standard input, as Kubernetes does: nobody could type there."""
    roles = _mapping(data.get("roles"))
    places = {f"roles.{name}.": _mapping(role) for name, role in roles.items()} if roles else {"": data}
    for place, role in places.items():
        if role.get("tty") is True and role.get("stdin") is not True:
            yield Problem(f"{place}tty", "needs standard input", f"write `{place}stdin: true` too")


def _roles(data: Mapping[str, Any]) -> Iterator[Problem]:
    roles = _mapping(data.get("roles"))
    if roles and all(_mapping(role).get("replicas") == 0 for role in roles.values()):
        yield Problem("roles", "ask for no task at all", "give a role at least one replica")
    if not _mapping(data.get("runtime")).get("image"):
        for name, role in roles.items():
            if isinstance(role, Mapping) and role.get("command") is None:
                yield Problem(
                    f"roles.{name}.command", "is required", "or `runtime.image` with an entry point of its own"
                )
    replicas = {name: _mapping(role).get("replicas", 1) for name, role in roles.items()}
    if replicas.get(PS_ROLE) and not replicas.get(WORKER_ROLE):
        yield Problem("roles", "has `ps` but no `worker`", "a parameter-server job needs both")


def _arguments(data: Mapping[str, Any]) -> Iterator[Problem]:
    for prefix, role in _sized(data):
        if role.get("args") is not None and role.get("command") is not None:
            hint = f"they are for the entry point of the image; add them to {prefix}command"
            yield Problem(f"{prefix}args", "stand beside a command", hint)


def _elastic(data: Mapping[str, Any]) -> Iterator[Problem]:
    for prefix, role in _sized(data):
        replicas = _count(role.get("replicas", 1))
        for key, is_beyond in (("min", int.__gt__), ("max", int.__lt__)):
            bound = _count(role.get(key))
            if replicas is not None and bound and is_beyond(bound, replicas):
                message = f"is {bound} and replicas is {replicas}"
                yield Problem(f"{prefix}{key}", message, "replicas must lie between min and max")


def _sized(data: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Yields everything that has replicas, with the path before its keys."""
    roles = data.get("roles")
    return [("", data)] if roles is None else [(f"roles.{n}.", _mapping(role)) for n, role in _mapping(roles).items()]


def _runtime(data: Mapping[str, Any]) -> Iterator[Problem]:
    runtime = _mapping(data.get("runtime"))
    chosen = [key for key in ("conda", "venv", "image") if runtime.get(key)]
    if len(chosen) > 1:
        yield Problem(f"runtime.{chosen[1]}", f"stands beside runtime.{chosen[0]}", "choose one")


def _after(data: Mapping[str, Any]) -> Iterator[Problem]:
    given = data.get("after")
    items = given if isinstance(given, list) else [given]
    if len(items) > MAX_DEPENDENCIES:
        yield Problem("after", f"names {len(items)} jobs", f"at most {MAX_DEPENDENCIES}")
    seen = set()
    for place, item in enumerate(items):
        job = _mapping(item).get("job", item)
        path = ("after" if items is not given else f"after[{place}]") + (".job" if job is not item else "")
        if not isinstance(job, str):
            continue
        if job == data.get("name"):
            yield Problem(path, "a job cannot wait for itself", "name another job")
        if job in seen:
            yield Problem(path, f"names {job} again", "once is enough")
        seen.add(job)


def _inputs(data: Mapping[str, Any]) -> Iterator[Problem]:
    """No two inputs may have the same target, and none may lie inside another, because unpacked inputs are
    read-only."""
    given = data.get("inputs")
    items = given if isinstance(given, list) else [given]
    if len(items) > MAX_INPUTS:
        yield Problem("inputs", f"names {len(items)}", f"at most {MAX_INPUTS}")
    taken: list[list[str]] = []
    for place, item in enumerate(items[:MAX_INPUTS]):
        parts = _input_place(item)
        if parts is None:
            continue
        path = ("inputs" if items is not given else f"inputs[{place}]") + ".target"
        if not parts or parts == [".."]:
            yield Problem(path, "is required: the source has no name of its own", "give it a name, as target: data")
        elif _is_taken(parts, taken):
            yield Problem(path, f"{'/'.join(parts)} is taken by another input", "give each a place of its own")
        taken.append(parts)


def _mounts(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A relative target is a link in the working directory, like an input, so nothing can lie below it."""
    given, mounts = data.get("inputs"), data.get("mounts")
    inputs = [_input_place(item) for item in (given[:MAX_INPUTS] if isinstance(given, list) else [given])]
    taken = [parts for parts in inputs if parts]
    absolute: set[tuple[str, ...]] = set()
    mounts = mounts if isinstance(mounts, list) else []
    if len(mounts) > MAX_MOUNTS:
        yield Problem("mounts", f"names {len(mounts)}", f"at most {MAX_MOUNTS}")
    for place, mount in enumerate(mounts[:MAX_MOUNTS]):
        yield from _mounted(f"mounts[{place}]", _mapping(mount))
        target = _mapping(mount).get("target")
        if not isinstance(target, str):
            continue
        parts, is_absolute = _parts(target), target.startswith("/")
        if tuple(parts) in absolute if is_absolute else _is_taken(parts, taken):
            message = f"{target} is taken by another mount or input"
            yield Problem(f"mounts[{place}].target", message, "give each a place of its own")
        if is_absolute:
            absolute.add(tuple(parts))
        elif parts:
            taken.append(parts)


def _mounted(path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    given = [key for key in ("source", "storage") if mount.get(key) is not None]
    if len(given) > 1:
        yield Problem(f"{path}.storage", "stands beside a source", "choose one")
    elif mount and not given:
        yield Problem(f"{path}.source", "is required", "or `storage` with the name of a storage of the cluster")


def _secrets(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Each secret needs a variable or a file that nothing else in the spec has."""
    given = data.get("secrets")
    roles = _mapping(data.get("roles"))
    plain = dict.fromkeys(_mapping(data.get("env")), "env")
    for role in roles:
        plain |= dict.fromkeys(_mapping(_mapping(roles[role]).get("env")), f"roles.{role}.env")
    variables: set[str] = set()
    files: list[list[str]] = []
    for place, item in enumerate(given[:MAX_SECRETS] if isinstance(given, list) else []):
        use, path = _mapping(item), f"secrets[{place}]"
        env, file = use.get("env"), use.get("file")
        if use and env is None and file is None:
            yield Problem(path, "has neither `env` nor `file`", "say how tasks get it, as env: API_KEY")
        if isinstance(env, str):
            yield from _secret_variable(f"{path}.env", env, plain, variables)
            variables.add(env)
        if isinstance(file, str):
            if _parts(file)[:1] == [_OWN_SECRETS]:
                yield Problem(f"{path}.file", f"{_OWN_SECRETS} is reserved", "choose another folder")
            if _is_taken(_parts(file), files):
                yield Problem(f"{path}.file", f"{file} is taken by another secret", "give each a file of its own")
            files.append(_parts(file))


def _package_place(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A package that is used where it lies belongs to all tasks, and perhaps to other people: nothing is put into it,
    and nothing is looked for in it."""
    package = data.get("package")
    if not isinstance(package, str) or ":" not in package:
        return
    hint = "upload the package as a folder, or take this out"
    for key in ("inputs", "outputs", "setup"):
        if data.get(key):
            yield Problem(key, "is for packages that are uploaded: this one is used where it lies", hint)
    mounts = data.get("mounts")
    for place, mount in enumerate(mounts[:MAX_MOUNTS] if isinstance(mounts, list) else []):
        target = _mapping(mount).get("target")
        if isinstance(target, str) and not target.startswith("/"):
            message = "is relative, and the package is used where it lies: nothing is put into it"
            yield Problem(f"mounts[{place}].target", message, "write an absolute target, which needs a runtime.image")


def _setup(data: Mapping[str, Any]) -> Iterator[Problem]:
    """The setup and the command are started by one script, so the entry point of an image cannot follow a setup. The
    same holds for the start of an SSH server, and for a package that lies on the cluster."""
    is_in_place = ":" in str(data.get("package") or "")
    reasons = (("a setup", data.get("setup") is not None), ("ssh", bool(data.get("ssh"))))
    needed_by = next(
        (name for name, is_given in reasons if is_given), "a package on the cluster" if is_in_place else ""
    )
    if not needed_by:
        return
    roles = data.get("roles")
    for prefix, role in [("", data)] if roles is None else _sized(data):
        if role.get("command") is None and _mapping(data.get("runtime")).get("image"):
            hint = "give the command of the image's entry point"
            yield Problem(f"{prefix}command", f"is required for a job with {needed_by}", hint)


def _setup_words(data: Mapping[str, Any]) -> list[Any]:
    given = data.get("setup")
    command = _mapping(given).get("command", given)
    return command if isinstance(command, list) else [command]


def _secret_variable(path: str, name: str, plain: Mapping[str, str], taken: Collection[str]) -> Iterator[Problem]:
    if _RESERVED.fullmatch(name):
        yield Problem(path, f"{name[:200]} is reserved", "choose another variable")
    elif name in taken:
        yield Problem(path, f"{name} is taken by another secret", "give each a variable of its own")
    elif name in plain:
        yield Problem(path, f"{name} is set in {plain[name]} too", "take it out of one of them")


def _input_place(item: Any) -> list[str] | None:
    """Returns the parts of an input's target, or None if the item is not written like an input."""
    source = _mapping(item).get("source", item)
    target = _mapping(item).get("target") or source
    if not isinstance(target, str) or not isinstance(source, str):
        return None
    return _parts(target) if _mapping(item).get("target") else _parts(target)[-1:]


def _parts(target: str) -> list[str]:
    return [part for part in target.split("/") if part not in ("", ".")]


def _is_taken(parts: list[str], taken: Sequence[list[str]]) -> bool:
    return bool(parts) and any(one[: len(parts)] == parts or parts[: len(one)] == one for one in taken)


def _where(data: Mapping[str, Any]) -> Iterator[Problem]:
    where = _mapping(data.get("where"))
    nodes, not_nodes = _names(where.get("nodes")), _names(where.get("notNodes"))
    excluded = set(not_nodes)
    for name in nodes:
        if name in excluded:
            yield Problem("where.notNodes", f"names {name}, which where.nodes asks for", "take it out of one of them")
    if where.get("spread") != Spread.APART:
        return
    tasks = sum(_count(role.get("min") or role.get("replicas", 1)) or 0 for _, role in _sized(data))
    if where.get("together") == Together.NODE and tasks > 1:
        message = f"is node, and {tasks} tasks are to lie apart"
        yield Problem("where.together", message, "choose `together: rack` or `spread: pack`")
    if nodes and len(nodes) < tasks:
        message = f"names {len(nodes)} for {tasks} tasks that are to lie apart"
        yield Problem("where.nodes", message, "name more nodes or choose `spread: pack`")


def _names(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(item for item in items if isinstance(item, str)))


def _params(data: Mapping[str, Any]) -> Iterator[Problem]:
    known = _declared(data)
    for path, text in _texts(data):
        for name in PARAM.findall(text):
            if name not in known:
                yield Problem(path, f"there is no param {name[:200]!r}", _known_params(name, known))


def unknown_params(data: Mapping[str, Any], given: Collection[str]) -> Iterator[Problem]:
    """Reports each given param that the spec neither declares nor uses: most likely its name is misspelt."""
    if not given:
        return
    declared, texts = _declared(data), [text for _, text in _texts(data)]
    used = {name for text in texts for name in PARAM.findall(text)}
    used_by_variable = {name for text in texts for name in _PARAM_VARIABLE.findall(text)}
    known = dict.fromkeys([*declared, *sorted(used)])
    for name in given:
        if name not in declared and name not in used and not _is_variable(name, used_by_variable):
            yield Problem(f"params.{name}", "the job has no such param", _known_params(name, known))


def _is_variable(name: str, used: Collection[str]) -> bool:
    """A program may read a param from its variable; `$MUSTER_PARAM_LR_2` may be LR followed by text."""
    return name.upper() in used or any(word.startswith(name.upper()) for word in islice(used, _SEARCHED))


def _declared(data: Mapping[str, Any]) -> dict[str, None]:
    return dict.fromkeys(str(name) for name in _mapping(data.get("params")))


def _known_params(name: str, known: Collection[str]) -> str:
    if len(name) > _LONGEST_GUESSED:
        return "the name is too long"
    some = list(islice(known, _SEARCHED))
    guess = nearest(name, some)
    more = f" and {len(known) - len(some)} more" if len(known) > len(some) else ""
    return f"did you mean {guess}?" if guess else f"known params: {', '.join(some) or 'none'}{more}"


def _texts(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields every text in which params are replaced, with its path."""
    parts = [("", data)]
    parts += [(f"roles.{name}.", _mapping(role)) for name, role in _mapping(data.get("roles")).items()]
    yield from (("setup", word) for word in _setup_words(data) if isinstance(word, str))
    for prefix, part in parts:
        for key in ("command", "args"):
            words = given if isinstance(given := part.get(key), list) else [given]
            yield from ((f"{prefix}{key}", word) for word in words if isinstance(word, str))
        for name, value in _mapping(part.get("env")).items():
            if isinstance(value, str):
                yield f"{prefix}env.{name}", value


def _sizes(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Checks the length of texts after the params have been replaced, without replacing them."""
    params = {str(name): len(str(value).encode()) for name, value in _mapping(data.get("params")).items()}
    by_part: dict[str, int] = {}
    for path, text in _texts(data):
        size = len(text.encode()) + sum(params.get(name, 0) for name in PARAM.findall(text))
        if size > MAX_TEXT >= len(text):  # the schema refuses a text that is too long as it is written
            yield Problem(path, f"is {size} bytes long", TEXT_HINT)
        found = _ROLE.match(path)
        part = found[0] if found else ""
        by_part[part] = by_part.get(part, 0) + size
    shared = by_part.get("", 0) if data.get("roles") is not None else 0
    for prefix, _ in _sized(data):
        if (of_one := by_part.get(prefix, 0) + shared) > MAX_TASK_BYTES:
            message = f"the command and variables of one task have {of_one >> 10} KiB"
            yield Problem(f"{prefix}env", message, "Linux takes about 1.5 MiB; put them into files of the package")
    # The schema refuses more tasks than that, and then their sum says nothing.
    counts = {prefix: min(_count(role.get("replicas", 1)) or 0, MAX_REPLICAS) for prefix, role in _sized(data)}
    total = sum((by_part.get(prefix, 0) + shared) * count for prefix, count in counts.items())
    if total > MAX_LAUNCH_BYTES:
        message = f"the commands and variables of all tasks have {total >> 20} MiB"
        yield Problem("command", message, f"at most {MAX_LAUNCH_BYTES >> 20} MiB; put them into files of the package")


def _count(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
