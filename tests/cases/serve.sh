# tidemark serve and top: it serves, says who came, and goes without a trace.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
server=

say() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2: $(head -c 300 "$work/err" | tr '\n' '|')"; fi; }

# Its path is there a little earlier than it listens, and its handlers are there when it says so.
serves() { wait_until shows "$work/out" 'serves at'; }
# What is in the background truncates its output a little later: the one before it may have said so, too.
anew() { : >"$work/out"; }

printf 'default priority 9\nuid x\n' >"$work/bad"
"$TIDEMARK" serve --socket "$work/s" --config "$work/bad" >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q "bad:2:5: a uid from 0 to 4294967295 is expected, not 'x'" "$work/err"
say $? a_bad_policy_has_a_place
"$TIDEMARK" serve --domain 0 >"$work/out" 2>"$work/err"
[ $? = 2 ]
say $? wrong_usage
"$TIDEMARK" serve --socket "$work/no/such/folder" >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q 'No such file' "$work/err"
say $? no_such_folder
"$TIDEMARK" top --once --socket "$work/s" >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -q "no service listens at $work/s: No such file or directory" "$work/err"
say $? top_without_a_service

printf 'clients 8\ndefault buffers 16 bytes 1M\n' >"$work/policy"
anew
(ulimit -n 64; exec "$TIDEMARK" serve --socket "$work/few" --config "$work/policy") >"$work/out" 2>"$work/err" &
server=$!
serves && kill $server && wait $server &&
  grep -q 'warning: the policy promises more descriptors than the process may have: 216 for 8 clients and those that leave, but 64 (RLIMIT_NOFILE)' \
    "$work/err" && [ "$(wc -l <"$work/err")" = 1 ]
say $? quotas_beyond_the_limits_are_told

anew
"$TIDEMARK" serve --socket "$work/s" --json-events "$work/events" >"$work/out" 2>"$work/err" &
server=$!
serves && "$TIDEMARK" top --once --socket "$work/s" >"$work/table" 2>"$work/err" &&
  grep -q ' top ' "$work/table"
say $? top_shows_itself
"$TIDEMARK" top --rows many --socket "$work/s" >"$work/out2" 2>"$work/err"
[ $? = 2 ] && grep -q 'expected 0 to 65536' "$work/err"
say $? top_wrong_usage
"$TIDEMARK" top --json --socket "$work/s" >"$work/object" 2>"$work/err" &&
  python3 - "$work/object" 2>"$work/err" <<'END'
import json, sys
table = json.load(open(sys.argv[1]))
assert table["client_count"] == 1 and table["outstanding"] == 0, table
client = table["clients"][0]
assert client["label"] == "top" and client["channels"] == [] and client["timelines"] == [], client
END
say $? top_as_json
# On a terminal of 40 columns and 10 lines: nothing is wider, it is drawn again, q ends it, and the
# cursor and the keys are as before.
python3 - "$TIDEMARK" "$work/s" 2>"$work/err" <<'END'
import fcntl, os, pty, re, struct, sys, termios
ready, go = os.pipe()
pid, fd = pty.fork()
if pid == 0:
    os.read(ready, 1) # the size is set
    os.execv(sys.argv[1], ["tidemark", "top", "--interval", "50", "--socket", sys.argv[2]])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
os.write(go, b"g")
seen = b""
while seen.count(b"\033[H") < 3:
    seen += os.read(fd, 4096)
assert not termios.tcgetattr(fd)[3] & termios.ICANON
os.write(fd, b"q")
try:
    while chunk := os.read(fd, 4096):
        seen += chunk
except OSError:
    pass # it has gone, and its side of the terminal
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert termios.tcgetattr(fd)[3] & termios.ICANON
assert b"\033[?25l" in seen and seen.rstrip().endswith(b"\033[?25h"), seen[-40:]
plain = re.sub(rb"\033\[[?0-9]*[A-Za-z]", b"", seen).decode()
assert "label" in plain and max(len(line) for line in plain.split("\r\n")) <= 40, plain
END
say $? top_on_a_terminal
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
assert kinds.count("connected") == 3 and kinds.count("gone") == 3, kinds
END
say $? events_are_json

# SIGHUP reads the policy again.
said() { wait_until grep -qF -e "$2" "$1"; } # FILE TEXT: the service has said so
printf 'default priority 9\n' >"$work/policy"
anew
"$TIDEMARK" serve --socket "$work/s" --config "$work/policy" >"$work/out" 2>"$work/err" &
server=$!
said "$work/out" 'serves at' && printf 'default\n  uid 1 priority 16\n' >"$work/policy" && kill -HUP $server &&
  said "$work/err" "$work/policy:2:18: priority: a number from 1 to 15 is expected, not '16'; the policy before it stays" &&
  mv "$work/policy" "$work/aside" && kill -HUP $server &&
  said "$work/err" "$work/policy: No such file or directory; the policy before it stays" &&
  "$TIDEMARK" top --once --socket "$work/s" >"$work/table" && grep -q ' top ' "$work/table"
say $? a_bad_policy_changes_nothing
printf 'default denied\n' >"$work/policy" && kill -HUP $server && said "$work/out" "follows $work/policy" &&
  ! "$TIDEMARK" top --once --socket "$work/s" >"$work/table" 2>"$work/err2" && grep -q 'permission denied' "$work/err2"
say $? a_new_policy
# Its file is a FIFO by now, whose writer says nothing: the service serves, and ends.
rm "$work/policy" && mkfifo "$work/policy" && exec 3<>"$work/policy" && kill -HUP $server &&
  wait_until has_open $server "$work/policy" &&
  ! "$TIDEMARK" top --once --socket "$work/s" >"$work/table" 2>"$work/err2" && grep -q 'permission denied' "$work/err2" &&
  has_open $server "$work/policy" && kill -TERM $server && wait_until is_absent "$work/s"
exec 3>&- # a service that waits for its policy goes on only now, and reads an empty one
wait $server && [ "$(grep -c follows "$work/out")" = 1 ]
say $? it_ends_while_it_reads_a_policy

"$TIDEMARK" serve --drain 86401 >"$work/out" 2>"$work/err"
[ $? = 2 ] && grep -q -e '--drain 86401: expected 0 to 86400 seconds' "$work/err"
say $? a_drain_of_too_long
anew
"$TIDEMARK" serve --socket "$work/s" --drain 86400 >"$work/out" 2>"$work/err" &
server=$!
said "$work/out" 'serves at' && kill -TERM $server && wait $server && ! grep -q 'were left' "$work/err" && [ ! -e "$work/s" ]
say $? a_drain_without_anything_left

# One that was killed leaves its socket behind; the next one takes it.
anew
"$TIDEMARK" serve --socket "$work/s" >"$work/out" 2>"$work/err" &
server=$!
serves
kill -KILL "$server"
wait "$server" 2>/dev/null
anew
"$TIDEMARK" serve --socket "$work/s" >"$work/out" 2>"$work/err" &
server=$!
serves && "$TIDEMARK" top --once --socket "$work/s" >"$work/table" 2>"$work/err" && grep -q ' top ' "$work/table"
say $? after_a_kill
kill -INT "$server"
wait "$server"
say $? sigint
server=
