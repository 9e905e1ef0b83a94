"""What the nodes run for a job of `paddle cluster_train`: the hook, then the parameter servers and the trainers.

Nothing that a user has written is part of a script. It comes as arguments and variables.
"""

THIRDPARTY_VARIABLE = "THIRDPARTY"
"""The name of the third-party folder, which is in `./thirdparty`."""
HOOK = "thirdparty/thirdparty/before_hook.sh"

RUN_HOOK = f"""\
hook={HOOK}
fail() {{
  echo "error: before_hook.sh $1 on ${{MUSTER_NODE:-this node}}" | tee "$MUSTER_SETUP_DIR/failure"
  exit "$2"
}}
[ -f "$hook" ] || fail "is missing" 127
[ -x "$hook" ] || fail "cannot run, because it is not executable (chmod +x before_hook.sh)," 126
read -r first <"$hook" || :
case "$first" in
  '#!'*) ;;
  *) fail "cannot run, because its first line names no interpreter, such as #!/bin/sh," 126 ;;
esac
code=0
"./$hook" || code=$?
[ "$code" = 0 ] || fail "failed with exit code $code" "$code"
"""
"""Prints its own failure last, after `error:`, which is what the reason of the job repeats, and leaves it for the tasks
on the node that wait meanwhile."""

_NEEDS_PADDLE = """\
if ! command -v paddle >/dev/null 2>&1; then
  echo "error: there is no program paddle on ${MUSTER_NODE:-this node}; it must be in PATH, or in the image" >&2
  exit 127
fi
"""

SERVE = f"""{_NEEDS_PADDLE}\
exec paddle pserver --port="$PADDLE_PORT" --num_gradient_servers="$PADDLE_TRAINERS_NUM" "$@"
"""

TRAIN = f"""\
port= differs= rest="$PADDLE_PSERVERS_IP_PORT_LIST"
while [ -n "$rest" ]; do
  one="${{rest%%,*}}"
  [ "${{one##*:}}" = "${{port:-${{one##*:}}}}" ] || differs=yes
  port="${{one##*:}}"
  case "$rest" in *,*) rest="${{rest#*,}}";; *) rest=;; esac
done
if [ -n "$differs" ]; then
  echo "error: the parameter servers have different ports here, and paddle train needs the same for all:" \\
    "submit with --num_pservers 1, or to a cluster whose tasks have addresses of their own" >&2
  exit 1
fi
{_NEEDS_PADDLE}\
if [ -n "${THIRDPARTY_VARIABLE}" ]; then
  export PYTHONPATH="$PWD/thirdparty/${THIRDPARTY_VARIABLE}${{PYTHONPATH:+:$PYTHONPATH}}"
fi
exec paddle train --local=0 --trainer_id="$PADDLE_TRAINER_ID" --num_gradient_servers="$PADDLE_TRAINERS_NUM" \\
  --pservers="$MUSTER_HOSTS_PS" --port="$port" "$@"
"""
"""Nothing but the shell and `paddle` is needed. All parameter servers of PaddlePaddle v1 listen on one port."""
