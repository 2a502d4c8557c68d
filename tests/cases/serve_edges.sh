# tidemark serve and top where the world is not kind: a stopped service.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$(mktemp -d)
server=
trap 'kill -CONT $server 2>/dev/null; kill -KILL $server 2>/dev/null; rm -rf "$work"' EXIT

say() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 300 "$work/err" | tr '\n' '|')"; fi; }
limit() { timeout -k 5 120 "$@"; } # a hang is a failure

wait_for() { # a file, for at most 20 s
  for _ in $(seq 1000); do
    if [ -e "$1" ]; then return 0; fi
    sleep 0.02
  done
  return 1
}
start() { # OPTIONS…: a service at $work/s
  "$TIDEMARK" serve --socket "$work/s" "$@" >"$work/out" 2>"$work/said" &
  server=$!
  wait_for "$work/s"
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
limit "$TIDEMARK" serve --socket "$work/s" >"$work/out2" 2>"$work/err"
[ $? = 1 ] && grep -q "in use: another service holds $work/s.lock" "$work/err"
say $? a_second_service_beside_a_stopped_one
limit "$TIDEMARK" top --once --socket "$work/s" >"$work/out2" 2>"$work/err"
[ $? = 1 ] && grep -q 'the service does not answer' "$work/err"
say $? top_of_a_stopped_service
kill -CONT $server
limit "$TIDEMARK" top --interval 50 --socket "$work/s" >"$work/table" 2>"$work/err" &
top=$!
for _ in $(seq 500); do
  if grep -q ' top ' "$work/table"; then break; fi
  sleep 0.02
done
kill -STOP $server
wait $top
[ $? = 1 ] && grep -q 'the service does not answer' "$work/err"
say $? a_service_is_stopped_beside_top
kill -CONT $server
stop 0
say $? it_goes_on_and_ends
