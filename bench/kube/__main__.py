"""`python -m bench.kube`: measure any operator for PaddleJobs and print its figures.

Without options it is Muster's, from this checkout. Another is given by the manifests that install it, with the
archives of their images, or by a command in which {kubeconfig} is replaced.
"""

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from bench.kube.case import measure_operator
from bench.kube.operators import InstalledOperator, LocalOperator, Operator, muster_operator
from bench.scale import FULL, QUICK
from bench.table import render


def main() -> int:
    arguments = _arguments()
    scale = QUICK if arguments.quick else FULL
    scale = replace(
        scale,
        operator_few=arguments.few or scale.operator_few,
        operator_many=arguments.many or scale.operator_many,
    )
    print(render(measure_operator(_operator(arguments), scale)))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.kube", description="The cost of an operator for PaddleJobs")
    parser.add_argument("--manifest", action="append", default=[], type=Path, help="a file that installs the operator")
    parser.add_argument("--image", action="append", default=[], type=Path, help="an image of it, as docker save writes")
    parser.add_argument("--namespace", default="paddle-system", help="where the manifests put its Deployment")
    parser.add_argument("--command", help="a command that runs the operator on this machine instead")
    parser.add_argument("--released-by", help="the annotation that ends the init container of its pods")
    parser.add_argument("--few", type=int, help="jobs at once in the small round")
    parser.add_argument("--many", type=int, help="jobs at once in the large round")
    parser.add_argument("--quick", action="store_true", help="smaller counts, for a look while working")
    return parser.parse_args()


def _operator(arguments: argparse.Namespace) -> Operator:
    if arguments.command:
        return LocalOperator(shlex.split(arguments.command), arguments.manifest, arguments.released_by)
    if arguments.manifest:
        return InstalledOperator(arguments.namespace, arguments.manifest, arguments.image, arguments.released_by)
    return muster_operator()


if __name__ == "__main__":
    sys.exit(main())
