# tidemark vulkan without a layer: scripts play the program and the layer in it. They read the environment of
# layer/protocol.h, and write reports and orders. The name that the tool gives the layer ends with the build id.
# No assertion is timed: limits are there against hangs only.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir tmp
TMPDIR=$work/tmp
export TMPDIR
unset TIDEMARK_VULKAN TIDEMARK_VULKAN_DIRECTORY TIDEMARK_VULKAN_REPLAY VK_LAYER_PATH VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS
version=$("$TIDEMARK" --version | cut -d ' ' -f 2)
export version
limit=$((120 * ${TEST_SLOWDOWN:-1}))
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; }
said() { echo "exit status $status: $(head -c 600 out | tr '\n' '|') -- $(head -c 600 err | tr '\n' '|')"; }
vulkan() { # what follows `tidemark vulkan`; output in out and err
  timeout -k 5 $limit "$TIDEMARK" vulkan "$@" >out 2>err </dev/null
  status=$?
}
# ended NAME STATUS [FILE PATTERN]...: the last run ended so, and printed that.
ended() {
  name=$1 wanted=$2
  shift 2
  if [ $status != "$wanted" ]; then
    fail "$name" "not $wanted but $(said)"
    return
  fi
  while [ $# -gt 0 ]; do
    if ! grep -Eq -e "$2" "$1"; then
      fail "$name" "no '$2' in $1: $(said)"
      return
    fi
    shift 2
  done
  pass "$name"
}
# Another process may have the number by now: ours are in this folder.
living() { while read -r pid; do if [ "$(readlink "/proc/$pid/cwd")" = "$PWD" ]; then echo "$pid"; fi; done <pids; }
nothing_left() { # NAME: the tool leaves no process and no file behind
  left=$(living)
  if [ -n "$(ls -A tmp)" ]; then fail "$1" "files are left: $(find tmp)"
  elif [ -n "$left" ]; then fail "$1" "processes are left: $left"
  else pass "$1"; fi
  : >pids
}
valid() { # FILE EXPRESSION: of d, what is in the file
  python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), d' "$1" "$2" 2>&1
}

# ---- the programs

# Each of them begins with this: `report REASON [LINE]...` writes a report of the process.
cat >layer.sh <<'E'
echo $$ >>pids
mode=${TIDEMARK_VULKAN%%,*}
base=$TIDEMARK_VULKAN_DIRECTORY/$$
layer="layer $version ${VK_INSTANCE_LAYERS##*_} /the/layer"
report() {
  [ -n "$mode" ] || return 0
  reason=$1
  shift
  { printf 'tidemark-vulkan-report 1\nprocess %s fake\nmode %s\n%s\nreason %s\ndevice a model\n' $$ "$mode" "$layer" "$reason"
    printf '%s\n' "$@" end; } >"$base.new"
  mv "$base.new" "$base.report"
}
E
program() { # NAME: a script, from stdin
  { printf '#!/bin/sh\n. ./layer.sh\n'; cat; } >"$1"
  chmod +x "$1"
}
program good <<'E'
echo "$TIDEMARK_VULKAN" >options
env | grep '^VK_' | sort >loader
cp "$TIDEMARK_VULKAN_DIRECTORY/VkLayer_tidemark.json" manifest
[ -z "$WRITES_TRACE" ] || echo '{}' >"$base.trace"
report exit 'count submissions 3' 'count choices 2' 'text all is well' 'text' 'edge 1 a -> b' 'wait own 4 a wait'
echo "said"
exit "${1-0}"
E
# The layers of other builds, by their reports.
program foreign_build <<'E'
[ -z "$mode" ] || echo run >>runs
layer="layer $version 00c0ffee0000 /usr/local/lib/a layer.so"
report exit 'text all is well'
E
program foreign_version <<'E'
layer="layer 0.0.1 ${layer#layer * }"
report exit 'text all is well'
E
program older <<'E'
layer='device another'
report exit 'text all is well'
E
program found <<'E'
report exit 'count choices 1' 'finding cycle a waits for b' 'finding cycle a waits for b' 'limit groups'
E
program lost <<'E'
report lost 'text queue a had three submissions'
E
program silent <<'E'
exit 0
E
program crash <<'E'
[ -z "$mode" ] || kill -SEGV $$
E
# Ignores all that can be ignored. So do its children: one in a session of its own, one whose parent is gone.
program hang <<'E'
trap '' TERM INT HUP
answer() { report request "text queue a waits for 7" "text nothing will signal it"; rm -f "$TIDEMARK_VULKAN_DIRECTORY/ask"; }
[ -z "$mode" ] || : >"$TIDEMARK_VULKAN_DIRECTORY/$$.ready"
setsid sh -c 'trap "" TERM INT HUP; echo $$ >>pids; while :; do sleep 1; done' &
sh -c 'sh -c "trap \"\" TERM INT HUP; echo \$\$ >>pids; while :; do sleep 1; done" & exit 0'
while [ "$(wc -l <pids)" -lt "${1-3}" ]; do sleep 0.05; done
echo started >started
while :; do
  [ -z "$mode" ] || [ ! -e "$TIDEMARK_VULKAN_DIRECTORY/ask" ] || answer
  sleep 0.05
done
E
# A shell around it does not know of reports.
program wrapper <<'E'
./hang 4
exit 1
E
program leaver <<'E'
report exit 'text gone'
sh -c 'trap "" TERM; echo $$ >>pids; while :; do sleep 1; done' &
while [ "$(wc -l <pids)" -lt 2 ]; do sleep 0.05; done
E
program hostile <<'E'
[ -n "$mode" ] || exit 0
printf 'tidemark-vulkan-report 1\nprocess %s fake\nmode explain\nreason exit\ntext \033[2J\nend\n' $$ >"$base.report"
E
program unfinished <<'E'
report exit 'text a'
sed -i '$d' "$base.report"
E
program other_process <<'E'
report exit 'text a'
mv "$base.report" "$TIDEMARK_VULKAN_DIRECTORY/1.report"
E
program link <<'E'
report exit 'text a'
mv "$base.report" ./real.report
ln -s "$PWD/real.report" "$base.report"
E
program pipe <<'E'
mkfifo "$base.report"
E
program large <<'E'
head -c 17000000 /dev/zero | tr '\0' 'x' >"$base.report"
E
: >pids

# ---- one run

vulkan explain -- ./good
ended explain 0 out '^said$' err "layer: $version, build [0-9a-f]{12}, /the/layer$" err 'all is well' err 'edge 1: a -> b' err 'counts: submissions 3, choices 2'
nothing_left explain_leaves_nothing
ours='VK_LAYER_TIDEMARK_causality_[0-9a-f]*'
if [ "$(cat options)" = explain ] && grep -qx "VK_INSTANCE_LAYERS=$ours" loader &&
  grep -q '^VK_ADD_LAYER_PATH=/[^:]*/run$' loader; then pass environment; else fail environment "$(cat options loader)"; fi
# The user's folders and layers come first. A layer of Tidemark that the user names would be a second one.
VK_ADD_LAYER_PATH=/before VK_INSTANCE_LAYERS=VK_LAYER_A:VK_LAYER_TIDEMARK_causality:VK_LAYER_B vulkan explain -- ./good
if grep -qx "VK_INSTANCE_LAYERS=VK_LAYER_A:VK_LAYER_B:$ours" loader && ! grep -q '^VK_LAYER_PATH' loader &&
  grep -qx 'VK_ADD_LAYER_PATH=/before:/.*/run' loader; then pass environment_is_added_to; else fail environment_is_added_to "$(cat loader)"; fi
# The loader ignores VK_ADD_LAYER_PATH beside a VK_LAYER_PATH, even an empty one.
why=
VK_LAYER_PATH=/only VK_ADD_LAYER_PATH=/before vulkan explain -- ./good
grep -qx 'VK_LAYER_PATH=/only:/.*/run' loader && grep -qx 'VK_ADD_LAYER_PATH=/before' loader || why=$(cat loader)
VK_LAYER_PATH='' vulkan explain -- ./good
grep -qx 'VK_LAYER_PATH=/[^:]*/run' loader || why="$why, empty: $(cat loader)"
if [ -z "$why" ]; then pass only_these_folders; else fail only_these_folders "$why"; fi
mkdir mine
TIDEMARK_LAYER_PATH=mine vulkan explain -- ./good
if why=$(valid manifest 'd["layer"]["library_path"].startswith("/") and d["layer"]["library_path"].endswith("/mine/libVkLayer_tidemark.so")'); then
  pass own_folder; else fail own_folder "$why"; fi
if [ "VK_INSTANCE_LAYERS=$(python3 -c 'import json; print(json.load(open("manifest"))["layer"]["name"])')" = "$(grep '^VK_INSTANCE_LAYERS' loader)" ]; then
  pass manifest_is_named; else fail manifest_is_named "$(cat manifest loader)"; fi
vulkan explore --seed 2 --queues 3 --families --in-queue --drop-edge 9 --drop own,seen ./good
if [ "$(cat options)" = 'explore,seed=2,queues=3,families,in-queue,drop-edge=9,drop=own+seen' ]; then pass options; else fail options "$(cat options)"; fi
vulkan audit ./good 7
ended own_exit_status 7 err 'own +4  a wait'
mkdir t r
WRITES_TRACE=1 vulkan explain --trace t/trace.json --save kept --report r/report -- ./good
ended trace_save_report 0
if [ "$(cat t/trace.json)" = '{}' ] && [ "$(cat options)" = explain,trace ] && grep -qx end kept/explain.report &&
  grep -q 'all is well' r/report && [ ! -s err ]; then pass files_are_kept; else fail files_are_kept "$(find t kept r) $(cat err)"; fi
vulkan explain --trace t/none -- ./good
ended trace_missing 1 err 'no trace came'
vulkan explain --json --report json -- ./found
ended finding 1
if why=$(valid json 'd["mode"] == "explain" and len(d["reports"]) == 1 and d["reports"][0]["findings"][0]["kind"] == "cycle" and d["exit_status"] == 1 and d["reports"][0]["layer"]["file"] == "/the/layer" and len(d["reports"][0]["layer"]["build"]) == 12'); then
  pass json; else fail json "$why"; fi
vulkan explain -- ./lost
ended device_lost 1 err 'when the device was lost' err 'queue a had three submissions'
vulkan explain -- ./silent
ended no_report 3 err 'no report came from the layer' err 'libVkLayer_tidemark.so is (there|missing)' err 'VK_LOADER_DEBUG'
vulkan explain -- ./crash
ended crash_without_report 3 err 'killed by signal 11'
vulkan explain -- ./nothing_here
ended cannot_start 1 err "cannot start './nothing_here': No such file"
vulkan explain -- .
ended cannot_start_a_folder 1 err "cannot start '.': Permission denied"
nothing_left one_run_leaves_nothing

# ---- reports that are none

refused() { # PROGRAM PATTERN
  vulkan explain -- ./"$1"
  ended "$1_report" 1 err "$2"
}
refused hostile 'report:5:6: a control character'
refused unfinished "report:8:1: the report is not complete: no 'end' came"
refused other_process '1.report: it is of process'
refused link 'symbolic links'
refused pipe 'no regular file'
refused large 'too long; at most 16777216'
refused foreign_build "another layer answered: expected $version, build [0-9a-f]{12}, from '/.*libVkLayer_tidemark.so'; came $version, build 00c0ffee0000, from '/usr/local/lib/a layer.so'"
if grep -q 'all is well' err; then fail foreign_report_is_not_shown "$(cat err)"; else pass foreign_report_is_not_shown; fi
refused foreign_version "came 0.0.1, build [0-9a-f]{12}, from '/the/layer'"
refused older 'came an older one, which writes no build id'
: >runs
vulkan explore -- ./foreign_build
ended foreign_report_ends_explore 1 err 'another layer answered'
if [ "$(wc -l <runs)" = 1 ] && [ ! -s out ]; then pass foreign_report_ends_explore_at_once; else fail foreign_report_ends_explore_at_once "$(cat runs out)"; fi
vulkan explore -- ./hostile
ended hostile_report_in_explore 1 out 'report cannot be read'
nothing_left hostile_leaves_nothing

# ---- limits and signals

# The limit has to be longer than the start, however long that takes here.
vulkan_hangs() { # MODE PROGRAM: at the limit it has started
  for seconds in 2 20 100; do
    rm -f started
    vulkan "$1" --limit ${seconds}s -- "$2"
    if [ -e started ]; then break; fi
  done
}
vulkan_hangs explain ./hang
ended hang_at_limit 1 err 'queue a waits for 7' err 'nothing will signal it' err 'ran until the limit'
nothing_left hang_leaves_nothing
vulkan_hangs audit ./wrapper
ended hang_in_a_wrapper 1 err 'queue a waits for 7'
nothing_left hang_in_a_wrapper_leaves_nothing
vulkan explain -- ./leaver
ended leaver 0 err 'left [12] process(es)? running'
nothing_left leaver_leaves_nothing
# A shell starts what is in the background with SIGINT and SIGQUIT ignored, and its children could not trap them.
start_hanging() { # MODE: in the background, as $tool
  rm -f started
  env --default-signal=INT,QUIT "$TIDEMARK" vulkan "$1" -- ./wrapper >out 2>err </dev/null &
  tool=$!
  wait_until shows started started
}
finish_hanging() { # NAME STATUS [FILE PATTERN]
  wait $tool
  status=$?
  ended "$@"
  nothing_left "$1"_leaves_nothing
}
start_hanging explain
kill -QUIT $tool
if wait_until shows err 'queue a waits for 7' && kill -0 $tool; then pass report_on_request; else fail report_on_request "$(cat err)"; fi
kill -TERM $tool
finish_hanging sigterm 143 err "'./wrapper': ended by signal 15"
start_hanging explain
kill -INT $tool
finish_hanging sigint 130 err 'queue a waits for 7'
start_hanging explore
kill -INT $tool
finish_hanging explore_sigint 130

# When the tool is killed, the program dies, too.
start_hanging explain
main=$(head -n 1 pids)
kill -KILL $tool
wait $tool 2>/dev/null
if wait_until is_over "$main"; then pass killed_tool; else fail killed_tool "process $main is left"; fi
for pid in $(living); do kill -KILL "$pid"; done
: >pids
rm -rf "$work"/tmp/*

# ---- explore

# Eight submissions on two queues. Nothing orders 4 and 6, and when they change places something goes wrong: the first
# argument says what.
cat >order <<'E'
#!/usr/bin/env python3
import os, random, signal, sys, time
words = os.environ.get("TIDEMARK_VULKAN", "").split(",")
value = lambda name: next((w.split("=", 1)[1] for w in words if w.startswith(name + "=")), None)
waits = {1: [], 2: [1], 3: [], 4: [2, 3], 5: [3], 6: [5], 7: [6, 4], 8: [7]}
how = sys.argv[1]
if how == "ordered":
    waits = {1: [], 2: [1]}
is_replay = "TIDEMARK_VULKAN_REPLAY" in os.environ
recorded = []
if is_replay:
    recorded = [int(line.split()[1]) for line in open(os.environ["TIDEMARK_VULKAN_REPLAY"]).readlines()[1:]]
    recorded = recorded[: int(value("prefix") or 1000)]
seed = int(value("seed") or 0)
dice = random.Random(seed)
held, until = map(int, (value("after") or "0:0").split(":"))
order, picks, choices = [], [], 0
while len(order) < len(waits):
    ready = [s for s in waits if s not in order and all(w in order for w in waits[s])]
    if held in ready and until not in order and len(ready) > 1:
        ready.remove(held)
    first = recorded.pop(0) if recorded else dice.choice(ready) if seed else ready[0]
    choices += len(ready) > 1
    picks.append(f"pick {first} of {' '.join(map(str, [first] + [s for s in ready if s != first]))}\n")
    order.append(first)
wrong = how != "ordered" and order.index(6) < order.index(4)
if how == "chance" and (is_replay or held):
    wrong = False
if how == "crowd" and held:
    wrong = False  # no pair alone is enough


def report(reason, lines):
    if not words[0] or how == "silent":
        return
    base = f"{os.environ['TIDEMARK_VULKAN_DIRECTORY']}/{os.getpid()}"
    torn = ["pick 9 o"] if how == "torn" else []
    open(base + ".new", "w").writelines(["tidemark-vulkan-order 1\n"] + picks + torn)
    os.rename(base + ".new", base + ".order")
    text = ["tidemark-vulkan-report 1", f"process {os.getpid()} order", "mode " + words[0],
            f"layer {os.environ['version']} {os.environ.get('VK_INSTANCE_LAYERS', '').split('_')[-1]} /the/layer", "reason " + reason,
            f"count choices {choices}", "count untried 2", f"schedule {sum(s * 9 ** i for i, s in enumerate(order)):x}",
            "limit nothing here is real", "text submission 44 is another"] + lines
    if held and order.index(until) < order.index(held):
        text.append(f"finding order submission {held} (queue graphics) went after submission {until} (queue compute)")
    open(base + ".new", "w").write("\n".join(text + ["end"]) + "\n")
    os.rename(base + ".new", base + ".report")


open("pids", "a").write(f"{os.getpid()}\n")
for i in range(30):
    print("line", i, file=sys.stderr)
if how == "hang" and wrong:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    directory = os.environ.get("TIDEMARK_VULKAN_DIRECTORY", "/none")
    if words[0]:
        open(f"{directory}/{os.getpid()}.ready", "w").close()
    while True:
        time.sleep(0.01)
        if os.path.exists(directory + "/ask"):
            report("request", ["text queue compute waits for submission 4"])
report("exit", ["finding race submission 6 reads what submission 4 writes"] if how == "finding" and wrong else [])
if how == "crash" and wrong:
    os.kill(os.getpid(), signal.SIGSEGV)
if how == "file" or (how == "vanish" and not wrong):
    open("image.raw", "w").write("wrong" if wrong else "right")
if how == "restless":
    print(os.getpid())
print("the image is", "wrong" if wrong and how in ("stdout", "torn", "chance", "crowd") else "right")
sys.exit(5 if how == "status" and wrong else 0)
E
chmod +x order
# The first seed that lets 6 overtake 4.
mkdir probe
for bad in $(seq 40); do
  if TIDEMARK_VULKAN=explore,seed=$bad TIDEMARK_VULKAN_DIRECTORY=$work/probe ./order stdout 2>err | grep -q wrong; then break; fi
done
seed="^seed $bad"
pair="$seed: submissions 4 and 6 had to change places: nothing orders them"
failing() { vulkan explore --seed "$bad" "$@"; }

vulkan explore --seeds 2 --compare stdout -- ./order none
ended explore_clean 0 out "^layer: $version, build [0-9a-f]{12}, /the/layer$" out '^seed 0: same$' out '^seed 2: same$' out '^3 runs, [123] different orders?, choices met [1-9]' \
  out 'limit: nothing here is real$' out '^nothing found$'
vulkan explore -- ./order ordered
ended not_explored 3 out '^not explored: no run met a choice'
vulkan explore -- ./order silent
ended explore_without_report 3 out '^not explored: no report came' err 'to check'
vulkan explore --compare stdout -- ./order restless
ended not_comparable 1 out 'differs from run to run without the layer \(stdout, from byte [0-9]+ on\)'
vulkan explore --seeds 0 -- ./order restless
ended not_compared_without_compare 0 out '^nothing found$'
failing --compare stdout -- ./order stdout
ended differs 1 out "$seed: stdout differs from byte 13 on" out 'line 29' out "$pair" \
  out 'submission 4 \(queue graphics\) went after submission 6 \(queue compute\)' out '^found: 1 of 2 runs failed'
if grep -q 'line 9$' out; then fail stderr_tail "$(cat out)"; else pass stderr_tail; fi
failing --compare stdout -- ./order torn
ended torn_order 1 out "$pair"
failing --compare stdout --no-shrink -- ./order stdout
if [ $status = 1 ] && ! grep -q 'change places' out; then pass no_shrink; else fail no_shrink "$(said)"; fi
failing -- ./order stdout
ended stdout_without_compare 0
failing --limit $((3 * ${TEST_SLOWDOWN:-1}))s -- ./order hang
ended explore_hang 1 out "$seed: hang: ran until the limit" out 'queue compute waits for submission 4' out "$pair"
nothing_left explore_hang_leaves_nothing
failing -- ./order crash
ended explore_crash 1 out "$seed: crash: killed by signal 11" out "$pair"
failing -- ./order status
ended explore_status 1 out "$seed: differs: exit status 5" out "$pair"
failing -- ./order finding
ended explore_finding 1 out "^finding, race: submission 6 reads what submission 4 writes \(seed $bad\)" out "$pair"
printf 'mine' >image.raw
failing --compare stdout --compare image.raw -- ./order file
ended explore_file 1 out "$seed: image.raw differs from byte 0 on" out "$pair"
failing --compare image.raw -- ./order vanish
ended explore_file_missing 1 out "$seed: image.raw was not written"
printf 'mine' >image.raw
vulkan explore --compare image.raw -- ./order stdout
ended compare_unwritten 1 err 'image.raw: the program does not write it'
if [ "$(cat image.raw)" = mine ]; then pass unwritten_file_is_kept; else fail unwritten_file_is_kept "$(ls)"; fi
vulkan explore --compare tmp -- ./order stdout
ended compare_a_folder 1 err 'a regular file is expected'
failing --compare stdout -- ./order chance
ended not_reproducible 1 out "$seed: not reproducible by its order: timing takes part"
failing --compare stdout --save kept -- ./order crowd
ended shortest_prefix 1 out 'no single pair of submissions fails alone; the first [1-8] of 8 picks' out "--replay kept/tidemark-seed-$bad.order"
if [ -f kept/seed-0.order ] && [ -f kept/seed-0.report ] && [ -f "kept/seed-$bad.order" ]; then pass orders_are_saved; else fail orders_are_saved "$(ls kept)"; fi
vulkan explore --compare stdout --replay "kept/tidemark-seed-$bad.order" -- ./order crowd
ended replay_a_prefix 1 out 'stdout differs from byte 13 on'
vulkan explore --compare stdout --replay kept/seed-0.order -- ./order crowd
ended replay_a_good_order 0
printf 'tidemark-vulkan-order 1\npick 1 of 2\n' >wrong.order
vulkan explore --replay wrong.order -- ./order stdout
ended replay_no_order 1 err 'wrong.order:2:1: the pick is none of its candidates'
vulkan explore --replay missing.order -- ./order stdout
ended replay_missing 1 err 'missing.order: No such file'
failing --json --compare stdout -- ./order stdout
ended explore_json_status 1
if why=$(valid out 'd["result"] == "found" and [r["failures"] for r in d["runs"]] == [[], ["differs"]] and d["cause"]["first"] == 4 and d["cause"]["later"] == 6 and d["schedules"] == 2 and d["counts"]["choices"] > 0 and d["layer"]["file"] == "/the/layer" and len(d["layer"]["build"]) == 12'); then
  pass explore_json; else fail explore_json "$why"; fi
vulkan explore --json --compare stdout -- ./order restless
if why=$(valid out 'd["result"] == "not compared" and d["runs"] == []'); then pass explore_json_refused; else fail explore_json_refused "$why"; fi
"$TIDEMARK" vulkan explore -- ./order stdout 2>err | head -n 1 >out
if grep -q '^seed 0: same$' out && [ -z "$(ls -A tmp)" ]; then pass closed_stdout; else fail closed_stdout "$(cat out err; ls tmp)"; fi
vulkan explore -- ./crash
ended crash_in_the_order_as_it_came 1 out '^seed 0: crash' out 'fails in the order as submissions came'
vulkan explore -- ./nothing_here
ended explore_cannot_start 1 err "cannot start './nothing_here'"
vulkan explore --limit 300ms -- ./hang
ended plain_hang 1 out 'without the layer, too, the program does not end well: ran until the limit'
nothing_left explore_leaves_nothing

# ---- wrong options

usage() { # NAME PATTERN OPTIONS...
  name=$1 pattern=$2
  shift 2
  vulkan "$@"
  ended "$name" 2 err "$pattern"
}
usage no_command 'usage: tidemark vulkan COMMAND'
usage unknown_command "no command 'race'" race -- ./good
usage no_program 'which program' explain
usage no_program_after_dashes 'which program' explore --seeds 3 --
usage unknown_option 'no option --seeds' explain --seeds 3 -- ./good
usage wrong_limit 'expected a time' explain --limit 5 -- ./good
usage wrong_limit_unit 'expected a time' explain --limit 5h -- ./good
usage zero_limit 'expected a time' explain --limit 0s -- ./good
usage wrong_queues 'expected 1 to 16' explore --queues 17 -- ./good
usage wrong_class 'expected own, known' explore --drop own,other -- ./good
usage audit_leaves_nothing_out 'no option --drop' audit --drop own -- ./good
usage wrong_edge 'expected 1 to' explore --drop-edge 0 -- ./good
usage wrong_seeds 'expected 0 to' explore --seeds many -- ./good
usage replay_and_seed 'has no seed' explore --replay a --seed 3 -- ./good
