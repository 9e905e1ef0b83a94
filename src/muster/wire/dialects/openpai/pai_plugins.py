"""OpenPAI's runtime plugins: what they do around the commands of a role, and what they are in the job spec.

A plugin is an entry in the job's `extras`, or a prerequisite that a role lists. All but `tensorboard` are honoured.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.wire.dialects.openpai.pai_commands import Around, Barrier, Clone, Lines, Step
from muster.wire.dialects.openpai.pai_prerequisites import PLUGIN_PREFIX, Prerequisite
from muster.wire.dialects.openpai.pai_templates import RoleTemplates
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_BEFORE, _AFTER = ("taskStarts", "containerStarts"), ("taskSucceeds", "containerEnds")
"""The events of callbacks, by their present names and those of the first versions."""
_CLONE_FOLDER = "/usr/local/pai/code"
_BARRIER_MINUTES = 30
_LONGEST_OPTIONS = 8192
"""The most characters of options, because taking them apart takes quadratic time."""
_KNOWN = ("cmd", "git", "ssh", "teamwise_storage", "tensorboard")


@dataclass(frozen=True, slots=True)
class _Plugin:
    name: str
    parameters: dict[str, Any]
    ignores_failure: bool
    roles: Sequence[str] | None
    """None means all of them."""
    at: Path

    def concerns(self, role: str) -> bool:
        return self.roles is None or role in self.roles


class Plugins:
    """The plugins of the job's `extras`."""

    def __init__(self, into: Translator, extras: Mapping[str, Any], task_count: int) -> None:
        self._into = into
        is_gang = extras.get("gangAllocation") not in (False, "false")
        self._has_peers = task_count > 1 and is_gang  # OpenPAI turns SSH between tasks off without a gang
        at: Path = ("extras", PLUGIN_PREFIX)
        given = enumerate(into.listed(extras.get(PLUGIN_PREFIX), at))
        self._plugins = [self._read(into.mapping(item, (*at, place)), (*at, place)) for place, item in given]
        for plugin in self._plugins:
            if plugin.name not in _KNOWN:
                hint = "do it in the commands"
                into.refuse(plugin.at, f"Muster has no runtime plugin {plugin.name!r}", hint)

    def of_job(self, roles: Sequence[str]) -> None:
        """What the plugins are in the spec: storages become mounts, and SSH is a key of the job."""
        for plugin in self._plugins:
            if plugin.name in ("ssh", "teamwise_storage") and not all(plugin.concerns(role) for role in roles):
                self._into.warn((*plugin.at, "taskroles"), "has no effect: all tasks of the job get it")
            match plugin.name:
                case "teamwise_storage":
                    names = plugin.parameters.get("storageConfigNames")
                    source = (*plugin.at, "parameters", "storageConfigNames")
                    for name in self._into.listed(names, source):
                        mount_storage(self._into, name, None, source)
                case "ssh":
                    self._ssh(plugin)
                case "tensorboard":
                    hint = "`muster port-forward` reaches one that a task starts"
                    self._into.warn(plugin.at, "the plugin tensorboard has no effect: Muster starts none", hint)

    def around(self, role: str, prerequisites: Iterator[Prerequisite], templates: RoleTemplates) -> Around:
        """What happens before and after the commands of the role: first what its prerequisites ask for."""
        plugins = [self._of_prerequisite(one) for one in prerequisites]
        plugins += [plugin for plugin in self._plugins if plugin.concerns(role)]
        before: list[Step] = []
        after: list[Step] = []
        for plugin in plugins:
            match plugin.name:
                case "cmd":
                    first, last = self._commands(plugin, templates)
                    before += first
                    after[:0] = last
                case "git":
                    before += self._clone(plugin, templates)
                case "ssh":
                    before += self._barrier(plugin)
        return Around(before, after)

    def _read(self, item: dict[str, Any], at: Path) -> _Plugin:
        parameters = self._into.mapping(item.get("parameters"), (*at, "parameters"))
        roles = item.get("taskroles")
        listed = None if roles is None else [str(role) for role in self._into.listed(roles, (*at, "taskroles"))]
        return _Plugin(str(item.get("plugin")), parameters, self._ignores(item, at), listed, at)

    def _of_prerequisite(self, one: Prerequisite) -> _Plugin:
        name = str(one.given["plugin"]).removeprefix(PLUGIN_PREFIX).removeprefix(".")
        if name not in ("cmd", "git"):
            message = f"Muster runs no plugin {name!r} as a prerequisite"
            self._into.refuse((*one.at, "plugin"), message, "cmd and git can be; others belong in extras")
        return _Plugin(name, dict(one.given), self._ignores(one.given, one.at), None, one.at)

    def _ignores(self, item: Mapping[str, Any], at: Path) -> bool:
        policy = str(item.get("failurePolicy", "fail")).lower()
        if policy not in ("fail", "ignore"):
            self._into.refuse((*at, "failurePolicy"), f"is {policy[:50]!r}", "fail or ignore")
        return policy == "ignore"

    def _commands(self, plugin: _Plugin, templates: RoleTemplates) -> tuple[list[Step], list[Step]]:
        parameters = plugin.parameters
        before, after = ([*self._texts(parameters.get(key), plugin)] for key in ("preCommands", "postCommands"))
        if parameters.get("callbacks") and (before or after):
            hint = "a plugin has one or the other"
            self._into.refuse(plugin.at, "has callbacks beside preCommands and postCommands", hint)
        for place, item in enumerate(self._into.listed(parameters.get("callbacks"), (*plugin.at, "callbacks"))):
            callback = self._into.mapping(item, (*plugin.at, "callbacks", place))
            event = callback.get("event")
            if event not in (*_BEFORE, *_AFTER):
                source = (*plugin.at, "callbacks", place, "event")
                self._into.refuse(source, f"OpenPAI has no event {event!r}"[:200], f"{_BEFORE[0]} or {_AFTER[0]}")
            (before if event in _BEFORE else after).extend(self._texts(callback.get("commands"), plugin))
        ends = ("\n".join(templates.required(line, plugin.at) for line in lines) for lines in (before, after))
        first, last = ([Lines(text, plugin.ignores_failure)] if text else [] for text in ends)
        return [*first], [*last]

    def _texts(self, given: Any, plugin: _Plugin) -> list[str]:
        return [str(line) for line in self._into.listed([given] if isinstance(given, str) else given, plugin.at)]

    def _clone(self, plugin: _Plugin, templates: RoleTemplates) -> Iterator[Step]:
        parameters = plugin.parameters
        uri = parameters.get("repo_uri") or parameters.get("repo")
        if not isinstance(uri, str):
            self._into.refuse(plugin.at, "names no repository", "repo_uri: ADDRESS")
            return
        folder = templates.required(str(parameters.get("clone_dir") or _CLONE_FOLDER), plugin.at)
        options = [templates.required(text, plugin.at) for text in self._texts(parameters.get("options"), plugin)]
        if sum(len(option) for option in options) > _LONGEST_OPTIONS:
            self._into.refuse((*plugin.at, "parameters", "options"), f"is longer than {_LONGEST_OPTIONS} characters")
            return
        try:
            words = tuple(word for option in options for word in shlex.split(option))
        except ValueError as error:
            self._into.refuse((*plugin.at, "parameters", "options"), f"cannot be read: {error}", "close the quotes")
            return
        yield Clone(templates.required(uri, plugin.at), folder, words, plugin.ignores_failure)

    def _ssh(self, plugin: _Plugin) -> None:
        """One task alone has nobody to reach, so that only the keys of people count there."""
        own = self._into.mapping(plugin.parameters.get("userssh"), (*plugin.at, "parameters", "userssh"))
        keys = [line for line in str(own.get("value") or "").splitlines() if line.strip()]
        hint = "--set ssh=null runs it without SSH; `muster exec` opens a shell in a task"
        if keys:
            self._into.put(("ssh",), {"authorizedKeys": keys}, plugin.at, hint)
        elif _is_true(plugin.parameters.get("jobssh")) and self._has_peers:
            self._into.put(("ssh",), True, plugin.at, hint)

    def _barrier(self, plugin: _Plugin) -> Iterator[Step]:
        parameters = plugin.parameters
        if self._has_peers and _is_true(parameters.get("jobssh")) and _is_true(parameters.get("sshbarrier")):
            minutes = parameters.get("sshbarrierTimeout", _BARRIER_MINUTES)
            if not str(minutes).isdecimal():
                self._into.refuse((*plugin.at, "parameters", "sshbarrierTimeout"), "is not a number of minutes")
                return
            yield Barrier(int(minutes))


def mount_storage(into: Translator, name: Any, target: Any, source: Path) -> None:
    hint = "--set 'mounts=[{source: DIR, target: DIR}]' names a folder instead, and mounts=[] mounts nothing"
    mount = {"storage": str(name), "target": str(target or f"/mnt/{name}")}
    into.append(("mounts",), mount, source, hint)


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"
