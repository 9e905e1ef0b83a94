"""The peers by the name they are chosen with."""

from collections.abc import Callable

from bench.peers.hyperqueue import HyperQueue
from bench.peers.peer import Peer
from bench.peers.ray import Ray
from bench.peers.slurm import Slurm, SlurmNodes
from bench.peers.torchx import TorchXCommand, TorchXRunner

PEERS: dict[str, Callable[[], Peer]] = {
    "hyperqueue": HyperQueue,
    "slurm": Slurm,
    "slurm-nodes": SlurmNodes,
    "torchx-runner": TorchXRunner,
    "torchx-cli": TorchXCommand,
    "ray": Ray,
}
