"""PaddlePaddle data-parallel training on CPUs over gloo, configured only by the PADDLE_* variables.

Every rank checks that an all-reduce gives the known sum, that all ranks end with identical weights, and that
these are the weights that the samples were generated with.
"""

import sys

try:
    import paddle
    import paddle.distributed as dist
except ImportError as error:
    sys.exit(f"{sys.executable} cannot import PaddlePaddle ({error}): set the param `python`, or `runtime` in job.yaml")

TRUE_WEIGHTS = [[2.0], [-3.0], [0.5], [4.0]]
SAMPLES_PER_RANK = 200
STEPS = 40
RATE = 0.3
TOLERANCE = 1e-3


def main() -> int:
    paddle.set_device("cpu")
    dist.init_parallel_env()
    summed = sum_is_right()
    weights = fit()
    identical = all_ranks_hold(weights)
    right = bool(paddle.allclose(weights, paddle.to_tensor(TRUE_WEIGHTS), atol=TOLERANCE))
    shown = " ".join(f"{w:.6f}" for w in weights.flatten().tolist())
    print(f"rank {dist.get_rank()} weights {shown} identical on all ranks: {identical}, right: {right}")
    return 0 if summed and identical and right else 1


def sum_is_right() -> bool:
    """Check an all-reduce: each rank contributes rank + 1, so the sum over n ranks must be n(n+1)/2."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = paddle.to_tensor([float(rank + 1)])
    dist.all_reduce(tensor)
    total, wanted = tensor.item(), size * (size + 1) / 2
    print(f"paddle {paddle.__version__} rank {rank} of {size} sum {total} (wanted: {wanted})")
    return bool(total == wanted)


def fit() -> paddle.Tensor:
    # Each rank starts with different weights: only DataParallel's broadcast from rank 0 makes them equal.
    paddle.seed(dist.get_rank() + 1)
    inputs = paddle.randn([SAMPLES_PER_RANK, len(TRUE_WEIGHTS)])
    targets = inputs @ paddle.to_tensor(TRUE_WEIGHTS)
    layer = paddle.nn.Linear(len(TRUE_WEIGHTS), 1, bias_attr=False)
    model = paddle.DataParallel(layer)
    optimizer = paddle.optimizer.SGD(learning_rate=RATE, parameters=model.parameters())
    for step in range(1, STEPS + 1):
        loss = paddle.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if step == 1 or step % 10 == 0:
            print(f"rank {dist.get_rank()} step {step}/{STEPS} loss {loss.item():.6f}")
    return layer.weight.detach()


def all_ranks_hold(weights: paddle.Tensor) -> bool:
    gathered: list[paddle.Tensor] = []
    dist.all_gather(gathered, weights)
    return all(bool(paddle.equal_all(weights, other)) for other in gathered)


if __name__ == "__main__":
    sys.exit(main())
