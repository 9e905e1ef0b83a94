#!/bin/sh
# What the tests use beside Python: PostgreSQL, Chromium for the page, busybox as a second shell for the supervisor,
# OpenSSH's server and iproute2 for hosts of their own, InfluxDB, podman (with uidmap, also without root), docker (60 MB,
# 250 MB when installed), OpenLDAP, nginx, PyTorch for CPUs (Debian's: about 150 MB with all it needs). As root it is
# installed; else the tests that need a missing part skip and say so. They skip too when PyTorch alone cannot be installed:
# it is as large as all others together.
set -eu
PATH="$PATH:/usr/sbin:/sbin"
missing=""
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v busybox >/dev/null 2>&1 || missing="$missing busybox"
command -v sshd >/dev/null 2>&1 || missing="$missing openssh-server"
command -v ip >/dev/null 2>&1 || missing="$missing iproute2"
command -v openssl >/dev/null 2>&1 || missing="$missing openssl"
command -v influxd >/dev/null 2>&1 || missing="$missing influxdb"
command -v podman >/dev/null 2>&1 || missing="$missing podman"
command -v catatonit >/dev/null 2>&1 || missing="$missing catatonit"
command -v newuidmap >/dev/null 2>&1 || missing="$missing uidmap"
command -v dockerd >/dev/null 2>&1 || missing="$missing docker.io"
command -v runc >/dev/null 2>&1 || missing="$missing runc"
command -v slapd >/dev/null 2>&1 || missing="$missing slapd"
command -v nginx >/dev/null 2>&1 || missing="$missing nginx-light"
torch=""
[ -e /usr/lib/python3/dist-packages/torch/__init__.py ] || torch=" python3-torch"
[ -n "$missing$torch" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "not root, so not installed:$missing$torch (their tests will skip)" >&2
    exit 0
fi
echo "installing$missing$torch"
export DEBIAN_FRONTEND=noninteractive
# The tests start the servers that they need; installing one must not start it for the machine.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
apt-get update -qq || echo "the lists of packages could not be brought up to date" >&2
# shellcheck disable=SC2086
[ -z "$missing" ] || apt-get install -y -qq --no-install-recommends $missing >/dev/null
[ -z "$torch" ] || apt-get install -y -qq --no-install-recommends $torch >/dev/null ||
    echo "could not be installed:$torch (its tests will skip)" >&2
