"""PyTorch DistributedDataParallel over gloo, configured only by env://.

Every rank checks that an all-reduce gives the known sum, that all ranks end with identical weights, and that
these are the weights that the samples were generated with.
"""

import argparse
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

TRUE_WEIGHTS = torch.tensor([[2.0, -3.0, 0.5, 4.0]])
SAMPLES_PER_RANK = 200
TOLERANCE = 1e-3


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, required=True)
    arguments.add_argument("--lr", type=float, required=True)
    chosen = arguments.parse_args()
    dist.init_process_group("gloo", init_method="env://", timeout=timedelta(minutes=4))
    summed = sum_is_right()
    weights = fit(chosen.steps, chosen.lr)
    identical = all_ranks_hold(weights)
    right = bool(torch.allclose(weights, TRUE_WEIGHTS, atol=TOLERANCE))
    shown = " ".join(f"{w:.6f}" for w in weights.flatten().tolist())
    print(f"rank {dist.get_rank()} weights {shown} identical on all ranks: {identical}, right: {right}")
    dist.destroy_process_group()
    return 0 if summed and identical and right else 1


def sum_is_right() -> bool:
    """Check an all-reduce: each rank contributes rank + 1, so the sum over n ranks must be n(n+1)/2."""
    size = dist.get_world_size()
    tensor = torch.tensor([float(dist.get_rank() + 1)])
    dist.all_reduce(tensor)
    wanted = size * (size + 1) / 2
    print(f"torch {torch.__version__} rank {dist.get_rank()} of {size} sum {tensor.item()} (wanted: {wanted})")
    return bool(tensor.item() == wanted)


def fit(steps: int, rate: float) -> torch.Tensor:
    # Each rank starts with different weights: only DDP's broadcast from rank 0 makes them equal.
    torch.manual_seed(dist.get_rank())
    inputs = torch.randn(SAMPLES_PER_RANK, TRUE_WEIGHTS.shape[1])
    targets = inputs @ TRUE_WEIGHTS.T
    model = DistributedDataParallel(torch.nn.Linear(TRUE_WEIGHTS.shape[1], 1, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for step in range(1, steps + 1):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 10 == 0:
            print(f"rank {dist.get_rank()} step {step}/{steps} loss {loss.item():.6f}")
    return model.module.weight.detach()


def all_ranks_hold(weights: torch.Tensor) -> bool:
    gathered = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, weights)
    return all(torch.equal(weights, other) for other in gathered)


if __name__ == "__main__":
    sys.exit(main())
