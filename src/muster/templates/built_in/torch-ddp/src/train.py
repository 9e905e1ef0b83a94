"""Train a linear model with DistributedDataParallel. The variables that PyTorch reads come from the environment."""

import argparse
import os
import sys

try:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
except ImportError as error:
    sys.exit(f"{sys.executable} cannot import PyTorch ({error}): set the param `python`, or `runtime` in job.yaml")

WEIGHTS = torch.tensor([[2.0, -3.0, 0.5, 4.0]])


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, required=True)
    arguments.add_argument("--lr", type=float, required=True)
    chosen = arguments.parse_args()
    has_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")
    dist.init_process_group("nccl" if has_gpu else "gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    inputs = torch.randn(200, WEIGHTS.shape[1])
    inputs, targets = inputs.to(device), (inputs @ WEIGHTS.T).to(device)
    model = DistributedDataParallel(torch.nn.Linear(WEIGHTS.shape[1], 1, bias=False).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=chosen.lr)
    for step in range(1, chosen.steps + 1):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(
                f"rank {rank} of {dist.get_world_size()} step {step}/{chosen.steps} loss {loss.item():.6f}", flush=True
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
