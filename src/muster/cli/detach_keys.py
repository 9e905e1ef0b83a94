"""The keys by which somebody leaves a session without ending it."""

import re

import click

DEFAULT = "ctrl-p,ctrl-q"
_CONTROL = re.compile(r"ctrl-([a-z@\[\\\]^_])")
_NONE = ("", "none")


class DetachKeys:
    """Finds the keys among what is typed. What may be their beginning is held back until the next key."""

    def __init__(self, keys: bytes) -> None:
        self._keys = keys
        self._held = b""

    def passed(self, typed: bytes) -> tuple[bytes, bool]:
        """What goes to the task, and whether the keys were typed. Nothing behind them goes to the task."""
        if not self._keys:
            return typed, False
        data = self._held + typed
        at = data.find(self._keys)
        if at >= 0:
            self._held = b""
            return data[:at], True
        begun = next(size for size in range(min(len(self._keys) - 1, len(data)), -1, -1) if self._is_begun(data, size))
        self._held = data[len(data) - begun :]
        return data[: len(data) - begun], False

    def _is_begun(self, data: bytes, size: int) -> bool:
        return data.endswith(self._keys[:size])


class KeysType(click.ParamType[bytes]):
    """`ctrl-p,ctrl-q`, single letters, or `none`."""

    name = "keys"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if isinstance(value, bytes):
            return value
        words = str(value).strip()
        return b"" if words in _NONE else b"".join(self._key(word, param, ctx) for word in words.split(","))

    def _key(self, word: str, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if control := _CONTROL.fullmatch(word.lower()):
            return bytes([ord(control[1].upper()) & 0x1F])
        if len(word) == 1 and word.isascii():
            return word.encode()
        return self.fail(
            f"{word!r} is no key; write letters and ctrl-KEY with commas between them, or none", param, ctx
        )


detach_keys_option = click.option(
    "--detach-keys",
    metavar="KEYS",
    type=KeysType(),
    default=DEFAULT,
    show_default=True,
    envvar="MUSTER_DETACH_KEYS",
    help="The keys that leave the task without ending it; `none` for no such keys.",
)
