#!/bin/bash
# `systemctl` for a sandbox without systemd: it starts what the units in /etc/systemd/system say, under the account and
# with the environment that they name. nginx has no unit there and is started as its package does.
set -eu

unit_value() { sed -n "s/^$2=//p" "/etc/systemd/system/$1.service"; }

start() {
    if [ "$1" = nginx ]; then
        nginx
        return
    fi
    user=$(unit_value "$1" User)
    file=$(unit_value "$1" EnvironmentFile)
    # shellcheck disable=SC2046
    setsid setpriv --reuid="$user" --regid="$user" --init-groups --no-new-privs \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin $(unit_value "$1" Environment) $(cat "${file#-}") \
        sh -c "umask $(unit_value "$1" UMask); cd $(unit_value "$1" WorkingDirectory); exec $(unit_value "$1" ExecStart)" \
        </dev/null >>"/var/log/$1.log" 2>&1 &
    echo $! >"/run/$1.pid"
}

stop() {
    if [ "$1" = nginx ]; then
        nginx -s stop || true
        while [ -e /run/nginx.pid ]; do sleep 0.05; done
        return
    fi
    pid=$(cat "/run/$1.pid")
    kill "$pid" 2>/dev/null || return 0
    tail --pid="$pid" --follow /dev/null
}

action=$1
shift
[ "${1:-}" != --now ] || shift
[ "$action" != daemon-reload ] || exit 0
for unit in "$@"; do
    case $action in
        start | enable) start "$unit" ;;
        stop) stop "$unit" ;;
        restart)
            [ ! -s "/run/$unit.pid" ] || stop "$unit"
            start "$unit"
            ;;
        *)
            echo "systemctl $action is not known here" >&2
            exit 1
            ;;
    esac
done
