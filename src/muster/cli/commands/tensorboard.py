"""`muster tensorboard`."""

import re
import subprocess
import tempfile
from pathlib import Path

import click

from muster.cli.failures import Failure
from muster.cli.session import connect, say
from muster.cli.shared_options import job_argument
from muster.cli.terminal import echo
from muster.client.handles import JobHandle
from muster.client.task_commands import TaskCommandResult
from muster.lib.counting import counted

_PORT = re.compile(rb"http://127\.0\.0\.1:(\d+)/")
_INSTALL = "install it in the environment of the job: pip install tensorboard"


@click.command()
@job_argument
@click.option("--logdir", default=".", show_default=True, help="The folder with the event files, from the job's own.")
def command(job: str, logdir: str) -> None:
    """Show TensorBoard over what a job writes, until Ctrl-C.

    While the job runs, TensorBoard runs in its first task, in the environment of the job, and the link leads there
    through the server. After the job has ended, its outputs are downloaded, and TensorBoard runs on this machine. It
    has to be installed where it runs.

    TensorBoard has no password: other users who can run programs on the same node can see it while this runs.

    \b
    Examples:
      muster tensorboard mnist
      muster tensorboard @last --logdir runs
    """
    handle = connect().job(job)
    if handle.view.ended:
        _over_outputs(handle, logdir)
    else:
        _in_task(handle, logdir)


def _in_task(handle: JobHandle, logdir: str) -> None:
    words = ["tensorboard", "--logdir", logdir, "--host", "127.0.0.1", "--port", "0"]
    said, is_shown = b"", False
    with handle.command(words) as running:
        running.end_input()
        for piece in running:
            if isinstance(piece, TaskCommandResult):
                if piece.task_ended:
                    say("the task has ended, and TensorBoard with it")
                    return
                words_said = said[-1000:].decode(errors="replace").strip()
                raise Failure(f"TensorBoard cannot run in the task: {words_said}", hint=_INSTALL)
            said = (said + piece.data)[-8192:]
            found = _PORT.search(said)
            if found and not is_shown:
                is_shown = True
                echo(handle.page_link(int(found[1])))
                say("This link is good once, for five minutes. TensorBoard ends with Ctrl-C here.")


def _over_outputs(handle: JobHandle, logdir: str) -> None:
    with tempfile.TemporaryDirectory(prefix="muster-tensorboard-") as folder:
        found = handle.download(folder)
        if not found:
            raise Failure(
                f"job {handle.name} has ended, and has no outputs", hint="name them in the job: outputs: [runs/]"
            )
        say(f"{counted(len(found), 'file')} of the outputs of {handle.name}")
        words = ["tensorboard", "--logdir", str(Path(folder) / logdir), "--host", "127.0.0.1", "--port", "0"]
        try:
            subprocess.run(words, check=False)
        except FileNotFoundError:
            raise Failure("TensorBoard is not installed on this machine", hint="pip install tensorboard") from None
