"""`muster cluster-train`: what `paddle cluster_train` was."""

import json
from typing import Any

import click

from muster.api.cluster_train import KEYS
from muster.cli.cluster_train.destinations import default_servers
from muster.cli.cluster_train.kill_command import kill_command
from muster.cli.cluster_train.options import key_options, read_flags, spelled
from muster.cli.cluster_train.sent_files import read_cluster_config, read_files
from muster.cli.dry_run import print_dry_run
from muster.cli.failures import reading_options
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import complete_destinations, output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.cli.transfer_progress import announce_packing, upload_progress
from muster.client.handles import JobHandle
from muster.client.submitting import Submission

_OWN = (
    "where",
    "num_nodes",
    "num_pservers",
    "job_name",
    "submitter",
    "time_limit",
    "job_priority",
    "use_gpu",
    "config",
    "thirdparty",
)


def _refuse_shell(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            "-c ran any command on the receiver, and Muster runs none; `muster get clusters` lists the clusters"
        )


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@spelled("-w", "where", metavar="CLUSTER", help="The cluster or virtual cluster.", shell_complete=complete_destinations)
@spelled("-n", "num_nodes", type=click.IntRange(min=1), default=1, show_default=True, help="How many trainers.")
@spelled("-j", "job_name", metavar="NAME", help="The name of the job.")
@spelled("-s", "submitter", metavar="WHO", help="Kept as a label; the job belongs to whoever is logged in.")
@spelled("-l", "time_limit", metavar="hh:mm:ss", default="0", show_default=True, help="0 means no limit.")
@spelled("-p", "job_priority", metavar="PRIORITY", default="normal", show_default=True, help="normal or high.")
@spelled("-t", "use_gpu", type=click.Choice(["gpu", "cpu"]), default="gpu", show_default=True, help="What trains.")
@spelled("-f", "config", metavar="CONFIG.py", required=True, help="The configuration of the job.")
@spelled("-i", "thirdparty", metavar="DIR", help="A folder for every node: ./thirdparty/NAME, in Python's path.")
@spelled(
    "",
    "num_pservers",
    type=click.IntRange(min=1),
    help="How many parameter servers. By default one for each trainer, and one in all on the cluster of one machine.",
)
@click.option("-c", "--shell", callback=_refuse_shell, expose_value=False, hidden=True, help="Is refused.")
@click.option("--dry-run", is_flag=True, help="Check the job and show what would be started, but start nothing.")
@key_options(KEYS, "A key of cluster_config.")
@output_option("text", "json", "yaml", "name", default="text")
@click.pass_context
def command(
    ctx: click.Context, /, config: str, thirdparty: str | None, dry_run: bool, output: str, **options: Any
) -> None:
    """Train with a configuration of PaddlePaddle v1, as `paddle cluster_train` did.

    CONFIG.py and the folder of -i are sent to every node, where `paddle pserver` and `paddle train` run. The program
    `paddle` must be on the nodes. A folder that is called `thirdparty` may hold a `before_hook.sh`, which runs once on
    each node before anything else.

    What CONFIG.py says in `cluster_config(...)` is read, and nothing of it is run. Each of its keys is an option, too,
    which comes first: --fs_name, --train_data_path, --output_path, --init_model_path, --use_remote_sparse … What has
    no meaning here is said, one line each. Every other option is passed on to `paddle train`.

    The exit code is 0 if the job was submitted, 1 if not, and 2 for wrong usage.

    \b
    Examples:
      muster cluster-train -w lab -n 4 -j mnist -t gpu -f mnist.py --trainer_count 4 --num_passes 10
      muster cluster-train -n 1 -t cpu -l 02:00:00 -f conf.py -i ./thirdparty --config_args lr=0.1
      muster cluster-train -n 2 -t cpu -f conf.py --dry-run
      muster cluster-kill JOB
    """
    given = {key: options.pop(key) for key in KEYS}
    flags, doubtful = read_flags(ctx.args, (*_OWN, *KEYS))
    files = read_files(config, thirdparty)
    written = read_cluster_config(files.config, config)
    if given["fs_ugi"]:
        say_warning("fs_ugi: others can see it in the process list; CONFIG.py is a better place")
    client = connect()
    by_default = default_servers(client, options["where"] or "", options["num_nodes"])
    options["num_pservers"] = options["num_pservers"] or by_default
    document = {
        **{key: value for key, value in options.items() if value is not None},
        "config": files.config.name,
        "cluster_config": written | {key: value for key, value in given.items() if value is not None},
        "train_flags": flags,
        **({"thirdparty": files.thirdparty.name} if files.thirdparty is not None else {}),
        **({"before_hook": True} if files.has_hook else {}),
    }
    for doubt in doubtful:
        say_warning(doubt)
    submission = Submission({"source": json.dumps(document, ensure_ascii=False)}, parts=files.parts)
    with reading_options():
        if dry_run:
            print_dry_run(client.dry_run(submission), output)
            return
        with upload_progress() as progress:
            handle = client.send(submission, progress=progress, announce=announce_packing)
    say(f"submitted job {handle.name} ({handle.id}) to {client.server}")
    _print(handle, client.server, output)


def _print(handle: JobHandle, server: str, output: str) -> None:
    if output == "name":
        echo(handle.name)
    elif output != "text":
        print_document(handle.view.raw, output)
    else:
        echo(f"job id:        {handle.id}")
        echo(f"tracking URL:  {server}/jobs/{handle.id}")
        echo(f"kill it with:  {kill_command(handle.id)}")
