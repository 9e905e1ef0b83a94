"""Runs blocking work on a daemon thread: an event loop waits for the threads of its own executor, which would delay the
end of the process for as long as somebody else does not answer."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def on_daemon_thread(work: Callable[[], T], name: str) -> T:
    """Returns what the work returns, or raises what it raises. A caller that is cancelled leaves the thread behind."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def succeed(result: T) -> None:
        if not done.done():
            done.set_result(result)

    def fail(error: Exception) -> None:
        if not done.done():
            done.set_exception(error)

    def run() -> None:
        with suppress(RuntimeError):  # the event loop has been closed meanwhile
            try:
                result = work()
            except Exception as error:  # passed on to the caller on the event loop
                loop.call_soon_threadsafe(fail, error)
            else:
                loop.call_soon_threadsafe(succeed, result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done
