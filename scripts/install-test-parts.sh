#!/bin/sh
# What the tests use beside Python: PostgreSQL, Chromium for the page, busybox as a second shell for the supervisor,
# OpenSSH's server and iproute2 for hosts of their own, InfluxDB, Prometheus and its Alertmanager (60 MB), podman (with
# uidmap, also without root), docker (60 MB, 250 MB when installed), OpenLDAP, nginx, sudo, Open MPI, PyTorch for CPUs
# (Debian's: about 150 MB with all it needs). As root it is installed; else the tests that need a missing part skip and
# say so. They skip too when PyTorch alone cannot be installed: it is as large as all others together.
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
command -v promtool >/dev/null 2>&1 || missing="$missing prometheus"
command -v prometheus-alertmanager >/dev/null 2>&1 || missing="$missing prometheus-alertmanager"
command -v podman >/dev/null 2>&1 || missing="$missing podman"
command -v catatonit >/dev/null 2>&1 || missing="$missing catatonit"
command -v newuidmap >/dev/null 2>&1 || missing="$missing uidmap"
command -v dockerd >/dev/null 2>&1 || missing="$missing docker.io"
command -v runc >/dev/null 2>&1 || missing="$missing runc"
command -v slapd >/dev/null 2>&1 || missing="$missing slapd"
command -v sudo >/dev/null 2>&1 || missing="$missing sudo"
command -v mpirun >/dev/null 2>&1 || missing="$missing openmpi-bin"
command -v nginx >/dev/null 2>&1 || missing="$missing nginx-light"
torch=""
[ -e /usr/lib/python3/dist-packages/torch/__init__.py ] || torch=" python3-torch"
[ -n "$missing$torch" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "not root, so not installed:$missing$torch (their tests will skip)" >&2
    exit 0
fi
echo "installing$missing$torch"
# shellcheck disable=SC2086
[ -z "$missing" ] || "$(dirname "$0")/apt-install.sh" $missing
# shellcheck disable=SC2086
[ -z "$torch" ] || "$(dirname "$0")/apt-install.sh" $torch ||
    echo "could not be installed:$torch (its tests will skip)" >&2
