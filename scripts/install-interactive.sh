#!/bin/sh
# Make .venv-interactive in the checkout: JupyterLab and TensorBoard, for `make test-interactive`. They are apart from the
# environment of Muster, as they are on the nodes of users. Where they cannot be installed, their tests skip and say so.
set -eu

cd "$(dirname "$0")/.."
venv=.venv-interactive
wanted='jupyterlab>=4.2,<5 tensorboard>=2.17,<3'

[ "$(cat "$venv/installed" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$venv"
"${PYTHON:-python3}" -m venv "$venv"
echo '*' > "$venv/.gitignore"
# shellcheck disable=SC2086  # one word is one requirement
if ! "$venv/bin/pip" install -q --disable-pip-version-check $wanted; then
    echo "could not be installed: $wanted (their tests will skip)" >&2
    exit 0
fi
echo "$wanted" > "$venv/installed"
