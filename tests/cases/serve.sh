# tidemark serve and top: it serves, says who came, and goes without a trace.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
server=

say() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 300 "$work/err" | tr '\n' '|')"; fi; }

wait_for() { # a file, for at most 10 s
  for _ in $(seq 500); do
    if [ -e "$1" ]; then return 0; fi
    sleep 0.02
  done
  return 1
}

printf 'default priority 9\nuid x\n' >"$work/bad"
"$TIDEMARK" serve --socket "$work/s" --config "$work/bad" >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q "bad:2:5: a uid is expected, not 'x'" "$work/err"
say $? a_bad_policy_has_a_place
"$TIDEMARK" serve --domain 0 >"$work/out" 2>"$work/err"
[ $? = 2 ]
say $? wrong_usage
"$TIDEMARK" serve --socket "$work/no/such/folder" >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q 'No such file' "$work/err"
say $? no_such_folder
"$TIDEMARK" top --once --socket "$work/s" >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q 'gone' "$work/err"
say $? top_without_a_service

"$TIDEMARK" serve --socket "$work/s" --json-events "$work/events" >"$work/out" 2>"$work/err" &
server=$!
wait_for "$work/s" && "$TIDEMARK" top --once --socket "$work/s" >"$work/table" 2>"$work/err" &&
  grep -q ' top ' "$work/table"
say $? top_shows_itself
"$TIDEMARK" serve --socket "$work/s" >"$work/out2" 2>"$work/err"
[ $? = 1 ] && grep -q 'in use' "$work/err"
say $? one_service_a_socket
kill -TERM "$server"
wait "$server"
[ $? = 0 ] && [ ! -e "$work/s" ]
say $? it_ends_clean
python3 - "$work/events" 2>"$work/err" <<'END'
import json, sys
kinds = [json.loads(line)["event"] for line in open(sys.argv[1])]
assert kinds.count("connected") == 1 and kinds.count("gone") == 1, kinds
END
say $? events_are_json

# One that was killed leaves its socket behind; the next one takes it.
"$TIDEMARK" serve --socket "$work/s" >"$work/out" 2>"$work/err" &
server=$!
wait_for "$work/s"
kill -KILL "$server"
wait "$server" 2>/dev/null
"$TIDEMARK" serve --socket "$work/s" >"$work/out" 2>"$work/err" &
server=$!
for _ in $(seq 100); do
  if "$TIDEMARK" top --once --socket "$work/s" >"$work/table" 2>"$work/err"; then break; fi
  sleep 0.05
done
grep -q ' top ' "$work/table"
say $? after_a_kill
kill -INT "$server"
wait "$server"
say $? sigint
server=
