# tidemark serve and top: a stopped service, the default path, services of other users.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
work=$(mktemp -d)
server=
trap 'kill -CONT $server 2>/dev/null; kill -KILL $server 2>/dev/null; rm -rf "$work"' EXIT

say() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 300 "$work/err" | tr '\n' '|')"; fi; }
limit() { timeout -k 5 120 "$@"; } # a hang is a failure

# Its path is there a little earlier than it listens.
serves() { wait_until shows "$work/out" 'serves at'; }
# What is in the background truncates its output a little later: the one before it may have said so, too.
anew() { : >"$work/out"; }
start() { # OPTIONS…: a service at $work/s
  anew
  "$TIDEMARK" serve --socket "$work/s" "$@" >"$work/out" 2>"$work/said" &
  server=$!
  serves
}
stop() { # the exit status that is expected
  kill -TERM $server
  wait $server
  status=$?
  server=
  cp "$work/said" "$work/err"
  [ $status = "$1" ]
}

# ---- a service that is stopped

start
kill -STOP $server
wait_until is_stopped $server
limit "$TIDEMARK" serve --socket "$work/s" >"$work/out2" 2>"$work/err"
[ $? = 1 ] && grep -q "in use: another service holds $work/s.lock" "$work/err"
say $? a_second_service_beside_a_stopped_one
# Its sentence waits for a reader of stderr. SIGHUP, which would reopen an event log that is soon
# freed, is ignored by then (the lowest bit).
mkfifo "$work/pipe"
exec 3<>"$work/pipe"
head -c 65536 /dev/zero >&3
"$TIDEMARK" serve --socket "$work/s" --json-events "$work/events" >"$work/out2" 2>&3 &
second=$!
wait_until grep -q '^SigIgn:.*[13579bdf]$' /proc/$second/status
ignored=$?
kill -HUP $second
head -c 65536 <&3 >/dev/null
wait $second
[ $? = 1 ] && [ $ignored = 0 ]
say $? a_service_that_fails_ignores_signals
exec 3>&-
limit "$TIDEMARK" top --once --socket "$work/s" >"$work/out2" 2>"$work/err"
[ $? = 1 ] && grep -q 'the service does not answer' "$work/err"
say $? top_of_a_stopped_service
kill -CONT $server
limit "$TIDEMARK" top --interval 50 --socket "$work/s" >"$work/table" 2>"$work/err" &
top=$!
wait_until shows "$work/table" ' top '
kill -STOP $server
wait $top
[ $? = 1 ] && grep -q 'the service does not answer' "$work/err"
say $? a_service_is_stopped_beside_top
kill -CONT $server
stop 0
say $? it_goes_on_and_ends

# ---- the path where none is given: as a user who is not root

chmod 0711 "$work"
if [ "$(id -u)" = 0 ]; then
  user=65534
  become="setpriv --reuid=$user --regid=$user --clear-groups"
else
  user=$(id -u)
  become=
fi
# shellcheck disable=SC2086
as_user() { limit $become "$@"; }
if ! as_user "$TIDEMARK" --version >"$work/out2" 2>"$work/err"; then
  echo "SKIP default_path: uid $user cannot run $TIDEMARK: $(head -c 200 "$work/err")"
else
  mkdir "$work/run"
  [ "$(id -u)" != 0 ] || chown $user:$user "$work/run"
  XDG_RUNTIME_DIR=$work/run
  export XDG_RUNTIME_DIR
  as_user "$TIDEMARK" top --once >"$work/out2" 2>"$work/err"
  [ $? = 1 ] && grep -q "no service listens at $work/run/tidemark/socket: No such file" "$work/err" && [ ! -e "$work/run/tidemark" ]
  say $? no_service_at_the_default_path
  anew
  $become "$TIDEMARK" serve >"$work/out" 2>"$work/err" &
  server=$!
  serves && as_user "$TIDEMARK" top --once >"$work/table" 2>"$work/err" &&
    grep -q ' top ' "$work/table" && [ "$(stat -c '%a %u' "$work/run/tidemark")" = "700 $user" ] &&
    grep -q "serves at $work/run/tidemark/socket" "$work/out"
  say $? the_default_path
  kill -TERM $server
  wait $server
  [ $? = 0 ] && [ -z "$(ls -A "$work/run/tidemark")" ]
  say $? the_default_path_is_left_empty
  server=
  chmod 0750 "$work/run/tidemark"
  as_user "$TIDEMARK" serve >"$work/out2" 2>"$work/err"
  [ $? = 1 ] && grep -q "mode 0700 is expected, not of uid $user with mode 0750" "$work/err"
  say $? a_directory_that_others_can_read
  rmdir "$work/run/tidemark"
  mkdir -m 0700 "$work/elsewhere"
  [ "$(id -u)" != 0 ] || chown $user:$user "$work/elsewhere"
  ln -s "$work/elsewhere" "$work/run/tidemark"
  as_user "$TIDEMARK" serve >"$work/out2" 2>"$work/err"
  [ $? = 1 ] && grep -q "$work/run/tidemark: " "$work/err" && [ -z "$(ls -A "$work/elsewhere")" ]
  say $? a_link_to_a_directory
  rm "$work/run/tidemark"
  XDG_RUNTIME_DIR=run as_user "$TIDEMARK" serve >"$work/out2" 2>"$work/err"
  [ $? = 1 ] && grep -q "an absolute path of less than 64 bytes is expected, not 'run'" "$work/err"
  say $? a_relative_directory
  unset XDG_RUNTIME_DIR
  if [ -e "/run/user/$user" ]; then
    echo "SKIP no_directory_at_all: there is /run/user/$user"
  else
    as_user "$TIDEMARK" serve >"$work/out2" 2>"$work/err"
    [ $? = 1 ] && grep -q -e "--socket PATH is expected" "$work/err"
    say $? no_directory_at_all
  fi
fi
if [ "$(id -u)" != 0 ]; then
  echo "SKIP a_directory_of_another_user: only root can make one"
  echo "SKIP a_service_of_another_user: only root can start one"
  echo "SKIP the_default_path_of_root: needs root"
else
  mkdir -m 0700 "$work/run/tidemark" # root's, in a user's directory
  XDG_RUNTIME_DIR=$work/run as_user "$TIDEMARK" serve >"$work/out2" 2>"$work/err"
  [ $? = 1 ] && grep -q "$work/run/tidemark: " "$work/err"
  say $? a_directory_of_another_user
  anew
  $become "$TIDEMARK" serve --socket "$work/run/socket" >"$work/out" 2>"$work/err" &
  server=$!
  serves
  limit "$TIDEMARK" top --once --socket "$work/run/socket" >"$work/out2" 2>"$work/err"
  [ $? = 1 ] && grep -q "not one of uid $user" "$work/err" &&
    limit "$TIDEMARK" top --once --trust-uid $user --socket "$work/run/socket" >"$work/out2" 2>"$work/err"
  # It answers root, too, but the policy does not: root is not its own user.
  [ $? = 1 ] && grep -q 'permission denied' "$work/err"
  say $? a_service_of_another_user
  kill -TERM $server
  wait $server
  server=
  if ! unshare -m true 2>"$work/err"; then
    echo "SKIP the_default_path_of_root: no mount namespace: $(head -c 200 "$work/err")"
  else
    anew
    limit unshare -m sh -c '
      mount -t tmpfs tmpfs /run && cd "$2" || exit 1
      "$1" serve >out 2>said &
      until grep -q "serves at" out; do sleep 0.02; done
      "$1" top --once >table && [ "$(stat -c "%a %u" /run/tidemark)" = "700 0" ] && kill -TERM $! && wait $!' \
      sh "$TIDEMARK" "$work" 2>"$work/err" && grep -q ' top ' "$work/table"
    say $? the_default_path_of_root
  fi
fi
