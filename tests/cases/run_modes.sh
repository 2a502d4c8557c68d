# tidemark run: what it finds, compares, writes and says.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
work=$BUILD/run_modes
source=$PWD
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; }

head='device c cpu workers 2
device d file
queue q, r on c
queue f on d
timeline t, u
buffer b 64K
buffer e 8
'
program() { # NAME, the rest on stdin
  { printf '%s' "$head" && cat; } >"$1.tide"
}
# run NAME STATUS ARGUMENTS…: runs NAME.tide; the outputs are in said and err.
run() {
  name=$1 want=$2
  shift 2
  timeout 120 "$TIDEMARK" run "$name.tide" "$@" >said 2>err
  got=$?
  [ $got = "$want" ] && return 0
  fail "$name" "exit status $got, not $want: $(cat err)"
  return 1
}
expect() { # NAME PATTERN FILE
  if grep -Eq -e "$2" "$3"; then pass "$1"; else fail "$1" "no '$2' in: $(cat "$3")"; fi
}

# ---- a plugin that is never the same twice: a comparison that cannot fail compares nothing
cat >plugin.c <<'C'
#include <tidemark/kernel.h>
#include <string.h>
static int runs;
static enum tide_status unsteady(void *arguments) {
  struct tide_argument *a = arguments;
  memset(a[0].data, 7, a[0].size);
  ((unsigned char *)a[0].data)[a[1].integer] = (unsigned char)runs++;
  return TIDE_OK;
}
static enum tide_status steady(void *arguments) {
  struct tide_argument *a = arguments;
  memset(a[0].data, 9, a[0].size);
  return TIDE_OK;
}
static const struct tide_param params[] = {{"out", TIDE_PARAM_OUT, false, 0},
                                           {"at", TIDE_PARAM_INTEGER, false, 0}};
static const struct tide_body bodies[] = {
    {{.name = "steady", .host = steady}, params, 1, "always 9"},
    {{.name = "unsteady", .host = unsteady}, params, 2, "never the same"},
};
const struct tide_plugin *tide_plugin_bodies(void);
const struct tide_plugin *tide_plugin_bodies(void) {
  static const struct tide_plugin plugin = {TIDE_PLUGIN_ABI, 2, bodies};
  return &plugin;
}
C
cc -std=c11 -shared -fPIC -I"$source/include" -o plugin.so plugin.c || fail plugin "does not compile"

program steady <<'E'
q: steady b
E
run steady 0 --plugin plugin.so --check && expect plugin 'every byte equals' said
program buffer_differs <<'E'
q: unsteady b, 1234
E
run buffer_differs 1 --plugin plugin.so --check &&
  expect mismatch_in_buffer "^buffer_differs.tide:6:8: buffer 'b' differs .* at byte 1234 it has 0x01, expected 0x00" err
program file_differs <<'E'
file out write "differs.raw"
q: unsteady b, 4321 signal t = 1
f: write out, 65536, b wait t >= 1
E
run file_differs 1 --plugin plugin.so --check &&
  expect mismatch_in_file "^file_differs.tide:8:6: file 'differs.raw' differs .* at byte 69857 it has 0x01, expected 0x00" err
if [ -e differs.raw ]; then fail mismatch_keeps_nothing "differs.raw is there"; else pass mismatch_keeps_nothing; fi
run file_differs 1 --plugin plugin.so --check --baseline events >/dev/null

# ---- check mode
program missing_wait <<'E'
q: fill b, 1 signal t = 1
r: hash b, e signal u = 1
E
# The race is meant: ThreadSanitizer, which finds it too, is not to end the run.
TSAN_OPTIONS="${TSAN_OPTIONS-} report_bugs=0" run missing_wait 1 --check && expect missing_wait "nothing orders them: add to line 9: wait t >= 1" err
expect findings_are_counted "1 ordering error" err

# ---- outputs
program outputs <<'E'
file one write "made/one.raw"
file two write "made/two.raw"
q: fill b, 1 signal t = 1
f: write one, 0, b wait t >= 1
f: write two, 0, b wait t >= 1
E
run outputs 0 --output deep/er && if [ "$(cat deep/er/made/one.raw | wc -c)" = 65536 ] &&
  cmp -s deep/er/made/one.raw deep/er/made/two.raw; then pass outputs; else fail outputs "$(find deep)"; fi
if [ "$(find deep -type f | wc -l)" = 2 ]; then pass nothing_else; else fail nothing_else "$(find deep)"; fi
echo old >target
ln -s target link
program through_link <<'E'
file one write "link"
q: fill b, 1 signal t = 1
f: write one, 0, b wait t >= 1
E
run through_link 0 && if [ "$(cat target)" = old ]; then pass rename_replaces_links; else fail rename_replaces_links "target was written"; fi

# ---- the baselines do the same work
program work <<'E'
scratch s[3] 4K
buffer sums 160
file out write "work.raw"
for i in 0..20 {
  q: alloc s[i%3]
  q: iota s[i%3], i*7  signal t = i+1
  r: hash s[i%3], sums[8*i, 8]  wait t >= i+1  signal u = i+1
  q: nop  wait u >= i+1
  q: free s[i%3]
}
f: write out, 0, sums wait u >= 20
E
for baseline in events barrier; do
  run work 0 --check --baseline $baseline --repeat 2 &&
    expect "baseline_$baseline" "^ +$baseline .*, 2 runs" said
done
run work 0 --baseline events --json && if python3 - said 2>err <<'P'; then pass json; else fail json "$(cat err)"; fi
import json, sys
d = json.load(open(sys.argv[1]))
assert d["operations"] == 61, d
assert d["baseline"]["events"] == 41 and d["baseline"]["event_waits"] == 41, d["baseline"]
assert d["paused"]["waits"] == 41 and d["paused"]["issued"] == d["fewest"]["waits"] == 41, d
assert d["paused"]["buffers"]["handed_out"] == 20, d
assert len(d["tracked_seconds"]["runs"]) >= 3
P
run work 0 --paused --stats --quiet-time && cp said first && run work 0 --paused --stats --quiet-time &&
  if cmp -s first said; then pass paused_is_repeatable; else fail paused_is_repeatable "$(diff first said)"; fi
run work 0 --memory 128K && pass memory_is_enough

# A nop needs no worker.
program nops <<'P'
for k in 0..100 {
  q: nop wait u >= k signal t = k+1
  r: nop wait t >= k+1 signal u = k+1
}
P
run nops 0 --check --stats && expect nops_wake_no_worker 'picked 0, devices woken 0,' said

# ---- memory: within a limit queues wait for one another's, without one they do not
program lanes <<'E'
param rounds = 12
queue lane[2] on c
timeline fed, done[2]
scratch in[4] 64K
buffer digests rounds*8
for i in 0..rounds {
  if i >= 4 {
    q: free in[i%4]
  }
  q: alloc in[i%4]
  q: iota in[i%4], i  wait done[(i+1)%2] >= max(0, i/2 - 1)  signal fed = i+1
  lane[i%2]: hash in[i%4], digests[8*i, 8]  wait fed >= i+1  signal done[i%2] = i/2 + 1
}
q: free in[*]
E
run lanes 0 --check --stats &&
  if grep -q 'for recycled buffers' said; then fail no_limit_no_waits "$(cat said)"; else pass no_limit_no_waits; fi
run lanes 0 --check --memory 321K && expect limit_waits '[0-9]+ waits? for recycled buffers; with --memory [0-9]+K? there' said
more=$(sed -n 's/.*with --memory \([0-9KM]*\) there are none.*/\1/p' said)
run lanes 0 --check --memory "$more" &&
  if grep -q 'for recycled buffers' said; then fail enough_is_enough "$(cat said)"; else pass enough_is_enough; fi
run lanes 0 --paused --memory 321K && expect limit_waits_paused 'with --memory [0-9]+K? there are none' said
run lanes 0 --paused --memory 321K --trace lanes.json && expect limit_in_the_trace '"ph":"s",.*"cat":"memory"' lanes.json
"$TIDEMARK" explain lanes.tide --memory 321K >said 2>err &&
  expect explain_memory '^    wait memory of in.0. +issued +lane.0.@1 used this memory last, and q knows nothing after it' said &&
  expect explain_counts_memory '^[0-9]+ more waits for recycled buffers, which order' said
"$TIDEMARK" explain lanes.tide >said 2>err &&
  if grep -q 'memory of\|recycled' said; then fail explain_enough "$(cat said)"; else pass explain_enough; fi
run lanes 1 --memory 264K &&
  expect limit_is_named "buffer 'in.3.' of 65536 bytes: out of memory: the limit \(--memory\) is 270336 bytes, of which 270336 are busy, 262248 in buffers" err

program whole <<'E'
scratch small[2] 3M
scratch large 7M
q: alloc small[*]
q: fill small[0]
q: fill small[1]
q: free small[*]
q: alloc large
q: fill large
q: free large
E
# The small ones' memory goes back once they have finished: in a paused run nothing does.
run whole 0 --memory 12M --json && expect idle_memory_goes_back '"handed_out": 3' said
run whole 1 --memory 12M --paused &&
  expect busy_memory_is_named "buffer 'large' of 7340032 bytes: out of memory: the limit \(--memory\) is 12582912 bytes, of which 8388608 are busy, 65544 in buffers" err

# ---- what waits for what comes later, what may be passed, what the host does
program held <<'E'
buffer other 8
r: hash b, e  wait t >= 1  signal u = 1
q: fill b, 3  signal t = 1
q: hash e, other  wait u >= 1
E
run held 0 --check && expect held 'ran +3 operations' said
run held 1 --baseline barrier && expect barriers_cannot "held.tide:9:1: .*a program of barriers cannot" err
run held 0 --check --baseline events && pass events_can
program passed <<'E'
buffer other 8
r: hash b, e  wait t >= 1  passable
r: iota other  signal u = 1
q: fill b, 3  wait u >= 1  signal t = 1
E
run passed 0 --check && pass passed
program host <<'E'
host: signal t = 1
q: fill b, 1  wait t >= 1  signal u = 1
host: wait u >= 1
host: signal t = 5
r: hash b, e  wait t >= 4, u >= 1
E
run host 0 --check && pass host
run host 0 --check --paused && pass host_paused
run host 0 --check --baseline events && pass host_events
program waits_for_host <<'E'
queue small on c capacity 1
small: fill b  wait t >= 1
small: hash b, e
host: signal t = 1
E
run waits_for_host 1 && expect full_for_ever "waits_for_host.tide:10:1: queue 'small' is full, .*larger capacity" err
program narrow <<'E'
queue small on c capacity 1
for i in 0..500 { small: fill b, i  signal t = i+1 }
r: hash b, e  wait t >= 500
E
run narrow 0 --check && pass full_queues_are_waited_for
program together <<'E'
queue lane[3] on c
buffer part[3] 4K
collective all over lane[*]
for i in 0..3 { lane[i]: iota part[i], i }
for n in 0..300 {
  all: allreduce member, members, part[0], part[1], part[2]
}
q: hash part[0], e  wait all >= 300
E
run together 0 && pass collectives
run together 0 --baseline events --repeat 1 && pass collectives_by_events

# ---- traces, explanations, layout
run work 0 --trace trace.json && if python3 - trace.json 2>err <<'P'; then pass trace; else fail trace "$(cat err)"; fi
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
assert len(slices) == 61, len(slices)
names = {e["args"]["name"] for e in events if e["ph"] == "M"}
assert {"q", "r", "f"} <= names, names
spans = {}
for e in slices:
    spans.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
flows = [e for e in events if e["ph"] in "sf"]
assert len(flows) == 82, len(flows)  # 41 waits
assert {e["cat"] for e in flows} <= {"issued", "elided", "resolved"}
for e in flows:  # each end lies in a slice of its track
    assert any(a - .002 <= e["ts"] <= b + .002 for a, b in spans[e["tid"]]), e
last = {}
for e in events:
    if e["ph"] == "C":
        assert e["args"]["value"] > last.get(e["name"], 0), e
        last[e["name"]] = e["args"]["value"]
assert last == {"t": 20, "u": 20}, last
P
"$TIDEMARK" explain work.tide >said 2>err && expect explain "^    wait t >= 1 +issued +q@1 signals it, and r knows nothing after it" said
"$TIDEMARK" explain held.tide >said 2>err && expect explain_held "held at submit" said
expect explain_counts_held '^2 waits: .*; 1 operation held at submit$' said
program begun <<'E'
timeline x initial 5
host: external t = 1
q: fill b wait t >= 1, x >= 5, u >= 0
E
"$TIDEMARK" explain begun.tide >said 2>err && expect explain_outside "wait t >= 1 +resolved +it was signalled from outside" said &&
  expect explain_start "wait x >= 5 +resolved +it is so from the start" said
# A frontier is as small as it was asked to be.
"$TIDEMARK" explain "$source/examples/eviction.tide" --frontier 3 >said 2>err &&
  expect explain_frontier '^9 waits: 0 resolved, 2 elided, 7 issued' said && expect explain_taint 'knows .*}~$' said
"$TIDEMARK" explain --json work.tide >said 2>err && if python3 - said 2>err <<'P'; then pass explain_json; else fail explain_json "$(cat err)"; fi
import json, sys
d = json.load(open(sys.argv[1]))
assert len(d["operations"]) == 61
assert sum(len(o["waits"]) for o in d["operations"]) == 41
assert d["operations"][1]["frontier"].startswith("{queue:0."), d["operations"][1]
P
printf 'device   c cpu\nqueue q on c   # here\nq:   spin 1\n' >ugly.tide
"$TIDEMARK" fmt --check ugly.tide 2>err
if [ $? = 1 ] && grep -q 'ugly.tide' err; then pass fmt_check; else fail fmt_check "$(cat err)"; fi
"$TIDEMARK" fmt ugly.tide >pretty.tide && "$TIDEMARK" fmt --check pretty.tide && pass fmt
"$TIDEMARK" fmt --write ugly.tide && if cmp -s ugly.tide pretty.tide; then pass fmt_write; else fail fmt_write "differs"; fi

# ---- signals
program long <<'E'
for i in 0..200 { q: spin 500000 signal t = i+1 }
file out write "long.raw"
r: fill b wait t >= 200 signal u = 1
f: write out, 0, b wait u >= 1
E
sed -i '/^file out/d; s/^buffer e 8/&\nfile out write "long.raw"/' long.tide
"$TIDEMARK" run long.tide >said 2>err &
child=$!
wait_until takes_signal $child 3
waits_in_line="queue 'r': operation 'fill@[0-9:]*' (1) waits 't' >= 200"
tells() { kill -QUIT $child && shows err "$waits_in_line"; } # asked again: the run may not have begun
wait_until tells
kill -INT $child
wait $child
status=$?
if shows err "$waits_in_line"; then pass sigquit_tells; else fail sigquit_tells "$(head -c 300 err)"; fi
if [ $status = 130 ]; then pass sigint; else fail sigint "exit status $status"; fi
if [ -z "$(find . -name '*long.raw*')" ]; then pass sigint_leaves_nothing; else fail sigint_leaves_nothing "$(find . -name '*long.raw*')"; fi

# ---- images
"$TIDEMARK" generate image one-300x200.raw --size 300x200 && "$TIDEMARK" generate image two.raw --size 300x200 &&
  if [ "$(wc -c <two.raw)" = 60000 ] && cmp -s one-300x200.raw two.raw; then pass generate; else fail generate "differs"; fi
"$TIDEMARK" generate image three.raw --size 300x200 --seed 2
if cmp -s two.raw three.raw; then fail generate_seed "the same"; else pass generate_seed; fi
satellite() { timeout 120 "$TIDEMARK" run "$source/examples/satellite.tide" --check --output sat "$@" >said 2>err; }
if satellite --input one-300x200.raw; then pass raw_image_by_name; else fail raw_image_by_name "$(cat err)"; fi
if satellite --input two.raw --set width=200 --set height=300; then pass raw_image_by_settings; else fail raw_image_by_settings "$(cat err)"; fi
preview=$(find sat -name preview.png)
"$TIDEMARK" generate image square.raw --size 256x256
if satellite --input square.raw && cp "$preview" small.png; then pass raw_image_square; else fail raw_image_square "$(cat err)"; fi
# A PNG of 8 x 8: the preview of 256 x 256.
if satellite --input small.png --set shrink=1 --set lines=2; then pass png_image; else fail png_image "$(cat err)"; fi
if [ "$(wc -c <out/small.png-8x8.raw)" = 64 ]; then pass png_is_decoded; else fail png_is_decoded "$(find out)"; fi
refuses() { # NAME PATTERN ARGUMENTS…
  name=$1 pattern=$2
  shift 2
  satellite "$@"
  status=$?
  if [ $status = 1 ] && grep -q -e "$pattern" err; then pass "$name"; else fail "$name" "status $status: $(cat err)"; fi
}
rm -rf out
head -c 60 small.png >cut.png
refuses png_truncated 'cut.png: it is no whole PNG' --input cut.png --set shrink=1 --set lines=2
if [ -z "$(find out -type f 2>/dev/null)" ]; then pass png_truncated_leaves_nothing; else fail png_truncated_leaves_nothing "$(find out)"; fi
head -c 1000 two.raw >cut-300x200.raw
refuses raw_truncated 'cut-300x200.raw: it is too short' --input cut-300x200.raw
head -c 1000 two.raw >short.raw
: >empty.raw
refuses raw_of_no_size '1000 bytes are no square; say how wide' --input short.raw
refuses image_missing 'none.png: No such file' --input none.png
refuses image_empty 'the file is empty' --input empty.raw
refuses raw_shorter_than_said 'is too short: it has 60000 bytes' --input two.raw --set width=3000 --set height=2000
if timeout 60 "$TIDEMARK" run steady.tide --plugin plugin.so --input two.raw >said 2>err; then fail no_input_param "exit status 0"
else expect no_input_param "steady.tide has no parameter 'input'" err; fi
