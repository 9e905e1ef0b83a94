#!/bin/sh
# Make .venv-frameworks in the checkout: PaddlePaddle, PyTorch, TensorFlow and JAX, all for CPUs, for the examples and for
# `make test-frameworks`.
#
# - PyTorch comes from Debian (python3-torch, a CPU build of 150 MB with everything it needs): the one on PyPI
#   brings the whole CUDA toolkit, some gigabytes. Hence the system's Python and --system-site-packages.
# - PaddlePaddle is 3.0.0, because the wheels after 3.1.0 are built without parameter servers ("module
#   'paddle.base.libpaddle' has no attribute 'DistFleetWrapper'").
# - protobuf below 6, because PaddlePaddle 3.0.0 uses calls that newer ones have dropped.
# - TensorFlow below 2.19, which accepts both that protobuf and the numpy below.
# - numpy below 2, because Debian's PyTorch was compiled against 1.x; JAX below 0.5 accepts that.
set -eu

cd "$(dirname "$0")/.."
venv=.venv-frameworks
wanted='paddlepaddle==3.0.0 protobuf<6 numpy<2 jax<0.5 tensorflow-cpu<2.19'

if [ "$(cat "$venv/installed" 2>/dev/null)" = "$wanted" ] && "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    exit 0
fi

if ! /usr/bin/python3 -c 'import torch, venv, ensurepip' 2>/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get update -q
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends python3-torch python3-venv
fi

rm -rf "$venv"
/usr/bin/python3 -m venv --system-site-packages "$venv"
echo '*' > "$venv/.gitignore"
# shellcheck disable=SC2086  # one word is one requirement
"$venv/bin/pip" install -q --disable-pip-version-check $wanted
"$venv/bin/python" -c 'import jax, paddle, torch; print("paddle", paddle.__version__, "torch", torch.__version__, "jax", jax.__version__)'
# In a process of its own: two frameworks may bring native libraries that do not stand each other.
"$venv/bin/python" -c 'import tensorflow; print("tensorflow", tensorflow.__version__)'
echo "$wanted" > "$venv/installed"
