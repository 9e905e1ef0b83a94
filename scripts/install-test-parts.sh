#!/bin/sh
# What the tests use beside Python: PostgreSQL, Chromium for the page, busybox as a second shell for the supervisor. As root it is installed; else the tests that
# need a missing part skip and say so.
set -eu
missing=""
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v busybox >/dev/null 2>&1 || missing="$missing busybox"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "not root, so not installed:$missing (their tests will skip)" >&2
    exit 0
fi
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
