"""Requests to the program that the server runs in a pod beside a task.

The pod belongs to a user and is not trusted: answers have a greatest size, come within a time, and are checked by who
asked. Nothing is sent there but the program and the requests.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muster.agent.system.frames import FrameDecoder, FrameError, Message, encode
from muster.backends.kubernetes.pod_program import COMMAND, program
from muster.domain.errors import BackendError, MusterError, Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.pod_commands import STDOUT, PodCommand, PodOutput, run_in_pod

_ANSWER_S = 60.0
_STDERR_BYTES = 2000


class PodLink:
    """One run of the program. Requests are answered in their order."""

    def __init__(self, command: PodCommand) -> None:
        self._command = command
        self._waiting: deque[asyncio.Future[Message]] = deque()
        self._end: MusterError | None = None
        self._turn = asyncio.Lock()

    async def ask(self, op: str, **arguments: object) -> Message:
        """The answer. Raises BackendError with the code of an error there as its reason, and Unreachable."""
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        async with self._turn:
            if self._end is not None:
                raise self._end
            self._waiting.append(answer)
            await self._command.send(encode({"op": op, **arguments}))
        try:
            async with asyncio.timeout(_ANSWER_S):
                told = await answer
        except TimeoutError:
            raise Unreachable("the pod does not answer") from None
        if "error" in told:
            raise BackendError(str(told.get("message") or "")[:500], reason=str(told["error"])[:50])
        return told

    async def read(self) -> None:
        """Hand out answers until the program ends."""
        decoder, stderr = FrameDecoder(), b""
        end: MusterError = Unreachable("the connection to the pod has ended")
        try:
            while isinstance(told := await self._command.receive(), PodOutput):
                if told.channel != STDOUT:
                    stderr = (stderr + told.data)[-_STDERR_BYTES:]
                    continue
                for message in decoder.feed(told.data):
                    self._answered(message)
            if told.exit_code:
                words = stderr.decode(errors="replace").strip().splitlines() or [f"exit code {told.exit_code}"]
                end = BackendError(f"a command in the pod failed: {words[-1]}", reason="exec")
        except FrameError as error:
            end = BackendError(f"the pod answers nonsense: {error}")
        except MusterError as error:
            end = error
        finally:
            self._end = end
            while self._waiting:
                if not (waiting := self._waiting.popleft()).done():
                    waiting.set_exception(end)

    def _answered(self, message: Message) -> None:
        if not self._waiting:
            raise FrameError("nothing was asked")
        if not (waiting := self._waiting.popleft()).done():
            waiting.set_result(message)


@asynccontextmanager
async def linked(connection: Connection, namespace: str, pod: str, container: str) -> AsyncIterator[PodLink]:
    async with run_in_pod(connection, namespace, pod, container, COMMAND) as command:
        await command.send(program())
        link = PodLink(command)
        reading = asyncio.create_task(link.read(), name=f"link {pod}")
        try:
            yield link
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
