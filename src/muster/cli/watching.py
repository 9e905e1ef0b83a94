"""Implements `--watch`: draws a table again after each event of the server, without fast polling."""

import select
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from muster.cli.tables.output import Item, print_document, table_lines
from muster.cli.tables.text_tables import Column
from muster.cli.terminal import echo
from muster.client.errors import MusterError

if TYPE_CHECKING:
    from muster.client.client import Client

_QUIET_S = 0.3  # a burst of events is one redraw
_AT_LEAST_S = 5.0  # ages and usage change without events


def watch(
    client: "Client",
    fetch: Callable[[], Sequence[Item]],
    columns: Callable[[Sequence[Item]], list[Column[Item]]],
    output: str,
) -> None:
    """Runs until interrupted. On a terminal the table is drawn in place; in a pipe each change is printed."""
    client.transport.on_notice = lambda _: None  # a message would end up in the middle of the table
    woken = threading.Event()
    threading.Thread(target=_wake_on_events, args=(client, woken), daemon=True).start()
    if sys.stdout.isatty() and output in ("table", "wide"):

        def draw() -> str:
            items = fetch()
            return "\n".join(table_lines(items, columns(items), output))

        _draw_in_place(draw, woken, lambda: False)
    else:
        _print_changes(fetch, columns, output, woken)


def watch_text(client: "Client", draw: Callable[[], str], is_over: Callable[[], bool]) -> None:
    """Runs until interrupted, or until `is_over` after a text was drawn. On a terminal the text is drawn in place, and
    its last state stays; in a pipe it is printed when it has changed."""
    client.transport.on_notice = lambda _: None
    woken = threading.Event()
    threading.Thread(target=_wake_on_events, args=(client, woken), daemon=True).start()
    if sys.stdout.isatty():
        echo(_draw_in_place(draw, woken, is_over))
        return
    closed = threading.Event()
    threading.Thread(target=_wake_on_closed_pipe, args=(sys.stdout.fileno(), closed, woken), daemon=True).start()
    shown = ""
    while not closed.is_set():
        text = draw()
        if text != shown:
            echo(f"\n{text}" if shown else text)
        shown = text
        if is_over():
            return
        _pause(woken)


def _draw_in_place(draw: Callable[[], str], woken: threading.Event, is_over: Callable[[], bool]) -> str:
    """Returns what was drawn last."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(no_color=click.get_current_context().find_root().color is False)
    with Live(Text(), console=console, auto_refresh=False, screen=True) as live:
        while True:
            text = draw()
            live.update(Text.from_ansi(text, no_wrap=True, overflow="crop"), refresh=True)
            if is_over():
                return text
            _pause(woken)


def _print_changes(
    fetch: Callable[[], Sequence[Item]],
    columns: Callable[[Sequence[Item]], list[Column[Item]]],
    output: str,
    woken: threading.Event,
) -> None:
    known: dict[str, object] = {}
    chosen: list[Column[Item]] = []
    closed = threading.Event()
    threading.Thread(target=_wake_on_closed_pipe, args=(sys.stdout.fileno(), closed, woken), daemon=True).start()
    while not closed.is_set():
        items = fetch()
        changed = [item for item in items if known.get(_key(item)) != item.raw]
        known = {_key(item): item.raw for item in items}
        if output in ("json", "yaml"):
            for item in changed:
                print_document(item.raw, output)
        elif output == "name":
            for item in changed:
                echo(item.raw.get("name"))
        elif changed:
            is_first, chosen = not chosen, chosen or columns(items)
            lines = table_lines(changed, chosen, output)
            echo("\n".join(lines if is_first else lines[1:]))
        _pause(woken)


def _pause(woken: threading.Event) -> None:
    if woken.wait(_AT_LEAST_S):
        threading.Event().wait(_QUIET_S)
        woken.clear()


def _wake_on_events(client: "Client", woken: threading.Event) -> None:
    try:
        for _ in client.events(follow=True):
            woken.set()
    except MusterError:
        return  # the loop continues at its slower interval, and its own requests report the error


def _wake_on_closed_pipe(descriptor: int, closed: threading.Event, woken: threading.Event) -> None:
    """Waits until nobody reads the output any more. Without it, and on Windows, the command notices that at the next
    change."""
    if not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(descriptor, 0)  # errors are reported without being asked for
    poll.poll()
    closed.set()
    woken.set()


def _key(item: Item) -> str:
    return str(item.raw.get("id") or item.raw.get("name"))
