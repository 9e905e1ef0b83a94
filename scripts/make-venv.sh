#!/bin/sh
# make-venv.sh PYTHON FOLDER: a virtual environment, with what Debian leaves out of python3 installed when it is missing.
set -eu
python=$1
venv=$2
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Muster needs Python 3.11 or newer; $python is $("$python" -V). Try: make PYTHON=python3.12" >&2
    exit 1
}
[ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && exit 0
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    [ "$(id -u)" = 0 ] || { echo "python3-venv is missing: sudo apt-get install python3-venv" >&2; exit 1; }
    apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
fi
"$python" -m venv "$venv"
