"""Two sparse tables on PaddlePaddle's own parameter servers, trained asynchronously by all workers.

A rating is the sum of a user and an item value. Each worker sees only its own users, so it can predict the ratings of
the other users only from what their workers have pushed to the servers. Roles and addresses come from the
environment.
"""

import argparse
import sys

from servers import wait_for_servers

try:
    import numpy as np
    import paddle
    from paddle import static
    from paddle.distributed import fleet
except ImportError as error:
    sys.exit(f"{sys.executable} cannot import PaddlePaddle ({error}): set the param `python`, or `runtime` in job.yaml")

USERS = ITEMS = 10
BATCH = 32
TOLERANCE = 0.15  # for ratings from 0 to 2.7; asynchronous Adam does not converge exactly


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=0)
    arguments.add_argument("--lr", type=float, required=True)
    chosen = arguments.parse_args()
    paddle.disable_signal_handler()  # it reports the SIGTERM that ends a server as a fatal error
    paddle.enable_static()
    fleet.init()
    rating, loss = build(chosen.lr)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return 0
    return work(rating, loss, chosen.steps)


def build(rate: float) -> tuple[static.Variable, static.Variable]:
    user = static.data("user", [None, 1], dtype="int64")
    item = static.data("item", [None, 1], dtype="int64")
    wanted = static.data("wanted", [None, 1])
    rating = table("user_table", user, USERS) + table("item_table", item, ITEMS)
    loss = paddle.mean(paddle.nn.functional.square_error_cost(rating, wanted))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    fleet.distributed_optimizer(paddle.optimizer.Adam(rate), strategy).minimize(loss)
    return rating, loss


def table(name: str, ids: static.Variable, rows: int) -> static.Variable:
    attributes = paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Constant(0.0))
    return paddle.reshape(static.nn.sparse_embedding(ids, size=[rows, 1], param_attr=attributes), [-1, 1])


def work(rating: static.Variable, loss: static.Variable, steps: int) -> int:
    worker, workers = fleet.worker_index(), fleet.worker_num()
    wait_for_servers(fleet.server_endpoints())
    executor = static.Executor(paddle.CPUPlace())
    executor.run(static.default_startup_program())
    fleet.init_worker()
    print(f"paddle {paddle.__version__} worker {worker} of {workers}, servers {fleet.server_endpoints()}")
    chance = np.random.default_rng(worker)
    own_users = np.arange(worker, USERS, workers)
    for step in range(1, steps + 1):
        pairs = chance.choice(own_users, BATCH), chance.integers(0, ITEMS, BATCH)
        (seen,) = executor.run(feed=feed(*pairs), fetch_list=[loss])
        if step == 1 or step % 100 == 0:
            print(f"worker {worker} step {step}/{steps} loss {float(seen):.6f}")
    fleet.barrier_worker()  # evaluate only after all workers have trained
    error = largest_error(executor, rating)
    print(f"worker {worker} largest error over all users {error:.6f} (allowed: {TOLERANCE})")
    fleet.barrier_worker()
    fleet.stop_worker()
    return 0 if error < TOLERANCE else 1


def largest_error(executor: static.Executor, rating: static.Variable) -> float:
    users, items = np.divmod(np.arange(USERS * ITEMS), ITEMS)
    data = feed(users, items)
    (rated,) = executor.run(feed=data, fetch_list=[rating])
    return float(np.abs(rated - data["wanted"]).max())


def feed(users: np.ndarray, items: np.ndarray) -> dict[str, np.ndarray]:
    """Return a batch with its true ratings: 0.1 times the user number plus 0.2 times the item number."""
    wanted = (0.1 * users + 0.2 * items).astype("float32")
    columns = {"user": users.astype("int64"), "item": items.astype("int64"), "wanted": wanted}
    return {name: column.reshape(-1, 1) for name, column in columns.items()}


if __name__ == "__main__":
    sys.exit(main())
