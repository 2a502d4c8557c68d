# The Vulkan layer: calls that are easy to get wrong (tests/vulkan/calls), a driver that loses its device
# (tests/vulkan/faulty), the layer without the tool and as it is installed.
: "${BUILD:?}" "${TIDEMARK:?}"
BUILD=$(cd "$BUILD" && pwd) SOURCE=$PWD
if [ ! -x "$BUILD/vulkan-calls" ]; then
  echo "SKIP vulkan_calls: the layer was not built: the Vulkan headers are missing"
  exit 0
fi
lavapipe=$(ls /usr/share/vulkan/icd.d/lvp_icd.*.json 2>/dev/null | head -n 1)
if [ -z "$lavapipe" ]; then
  echo "SKIP vulkan_calls: there is no software driver (mesa-vulkan-drivers)"
  exit 0
fi
export VK_ICD_FILENAMES="$lavapipe"
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # the driver's, too, would be told
work=$BUILD/vulkan_calls
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
layers=$BUILD/layer
calls=$BUILD/vulkan-calls

verdict() { # name, what is wrong
  if [ -z "$2" ]; then echo "PASS $1"; else echo "FAIL $1: $2"; fi
}
excerpt() { tail -n 8 "$1" | cut -c 1-300 | tr '\n' '|'; }

# Every program prints the same under each mode, and is accused of nothing.
for kind in blocked covers devices events forks handler many pingpong polls queries reuse stages sleeps; do
  timeout 60 "$calls" $kind >plain || { echo "FAIL plain_$kind: exit status $?"; continue; }
  for mode in explain audit; do
    why=
    timeout 120 "$TIDEMARK" vulkan $mode --limit 60s -- "$calls" $kind >out 2>err || why="exit status $?: $(excerpt err)"
    [ -n "$why" ] || cmp -s plain out || why="prints $(excerpt out)"
    verdict ${mode}_$kind "$why"
  done
  words=
  case $kind in covers | many | reuse) words=--in-queue ;; esac
  "$TIDEMARK" vulkan explore --seeds 3 --compare stdout --limit 60s $words -- "$calls" $kind >out 2>err
  status=$? why=
  case $kind:$status in
    covers:0 | forks:0 | many:0 | polls:0 | reuse:0 | blocked:3 | devices:3 | events:3 | handler:3 | pingpong:3 | queries:3 | sleeps:3 | stages:3) ;;
    *) why="exit status $status: $(excerpt out) $(excerpt err)" ;;
  esac
  verdict explore_$kind "$why"
done
# A program that never looks needs the timer; the report says so.
why=
grep -q 'timer picks [1-9]' out || why=$(excerpt out)
verdict timer_is_counted "$why"

# A wait is known only by what the earlier one stands for.
why=
"$TIDEMARK" vulkan audit -- "$calls" stages >out 2>err || why="exit status $?"
grep -q 'known 1, own 2' err || why="$why $(excerpt err)"
verdict narrow_signals "$why"

# A device that waits for the host's next signal is no cycle.
why=
timeout 60 "$TIDEMARK" vulkan explain --limit 150ms -- "$calls" pingpong >out 2>err
if grep -q 'finding' err; then why=$(excerpt err); fi
verdict host_signals_are_no_cycle "$why"

# Plain, this program hangs on one queue. Virtual queues let its signal come after the wait.
why=
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_ADD_LAYER_PATH=$layers TIDEMARK_VULKAN=explore,queues=2 \
  timeout 60 "$calls" crossed >out 2>err || why="exit status $?: $(excerpt err)"
grep -q '^crossed: 0000c055 0000c055$' out || why="$why prints $(excerpt out)"
verdict signal_after_wait "$why"

# A lost device: the report comes at once, and tells what was under way. The faulty layer is below.
for mode in explain audit explore,seed=2; do
  rm -rf reports
  mkdir reports
  why=
  VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality:VK_LAYER_TIDEMARK_TEST_faulty FAULTY_SUBMIT=6 \
    VK_ADD_LAYER_PATH=$layers:$BUILD/tests/vulkan/faulty TIDEMARK_VULKAN=$mode TIDEMARK_VULKAN_DIRECTORY=$work/reports \
    timeout 60 "$calls" lost >out 2>err || why="exit status $?: $(excerpt err)"
  grep -q '^lost: VK_ERROR_DEVICE_LOST$' out || why="$why prints $(excerpt out)"
  report=$(ls reports/*.report 2>/dev/null | head -n 1)
  if [ -z "$report" ]; then why="$why no report"
  elif ! grep -q '^finding device-lost ' "$report"; then why="$why $(excerpt "$report")"; fi
  verdict "lost_${mode%%,*}" "$why"
done

# Without the tool: SIGQUIT asks a hanging program for its report, on stderr; it goes on.
# (Sent again: the handler is there once the instance is made, and the cycle once both threads wait.)
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_ADD_LAYER_PATH=$layers timeout 60 "$calls" crossed >out 2>err &
process=$!
why="no report came"
for _ in $(seq 200); do
  main=$(pgrep -P $process | head -n 1)
  if [ -n "$main" ] && grep -q 'SigCgt:.*[4567cdef]$' "/proc/$main/status" 2>/dev/null; then kill -QUIT "$main"; fi
  if grep -q 'text .*CYCLE' err; then why=; break; fi
  sleep 0.1
done
[ -z "$why" ] || [ ! -s err ] || why="no cycle in $(excerpt err)"
[ -n "$why" ] || kill -0 "$main" || why="the program has ended"
kill -KILL "$main" 2>/dev/null
wait $process 2>/dev/null
verdict report_without_the_tool "$why"

# Options that cannot be understood: the program runs, untouched, and the reason is told.
why=
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_ADD_LAYER_PATH=$layers TIDEMARK_VULKAN=explore,sead=3 \
  timeout 60 "$calls" polls >out 2>err || why="exit status $?"
grep -q "'sead=3'" err || why="$why says $(excerpt err)"
grep -q '^polls: 00009011' out || why="$why prints $(excerpt out)"
verdict wrong_options "$why"

# The trace: a slice for each submission, arrows that do not go back in time, and what the page makes of it.
"$TIDEMARK" vulkan explore --seed 1 --trace trace.json -- "$BUILD/vulkan-small" clean >out 2>err
why=$(python3 -c 'import json
events = json.load(open("trace.json"))
events = events if isinstance(events, list) else events["traceEvents"]
starts = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
ends = {e["id"]: e["ts"] for e in events if e["ph"] == "f"}
assert sum(e["ph"] == "X" for e in events) == 48, "slices"
assert starts and starts.keys() == ends.keys() and all(starts[i] <= ends[i] for i in starts), "arrows"' 2>&1 | tail -n 1)
verdict trace "$why"
if command -v node >/dev/null; then
  cp "$SOURCE/web/page/trace.js" trace.mjs
  why=$(node --input-type=module -e 'import { readTrace } from "./trace.mjs";
import { readFileSync } from "node:fs";
const { bars, names } = readTrace(readFileSync("trace.json", "utf8"), { tables: { queues: [] }, byEpoch: [] });
if (bars.length !== 48 || names.length !== 3) throw new Error(`${bars.length} bars, ${names.length} queues`);' 2>&1 | grep Error)
  verdict trace_on_the_page "$why"
else
  echo "SKIP trace_on_the_page: there is no node"
fi

# Memory stays flat over 10 000 submissions.
for mode in explain audit explore,seed=1; do
  growth=$(VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_ADD_LAYER_PATH=$layers TIDEMARK_VULKAN=$mode \
    timeout 120 "$BUILD/vulkan-small" clean --submissions 10000 --rss 2>&1 >/dev/null | sed -n 's/.*then +\([0-9]*\) KiB$/\1/p')
  why=
  if [ "${TEST_KIND-plain}" = plain ] && [ "${growth:-9999}" -gt 4096 ]; then why="grows by ${growth:-?} KiB"; fi
  verdict "memory_${mode%%,*}" "$why"
done

# One seed is one schedule, on another driver, too.
. "$SOURCE/tests/vulkan/programs.sh"
if swiftshader=$(swiftshader_icd "$work/swiftshader"); then
  for icd in "$lavapipe" "$swiftshader"; do
    rm -rf reports
    mkdir reports
    VK_ICD_FILENAMES=$icd VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_ADD_LAYER_PATH=$layers TIDEMARK_VULKAN=explore,seed=7 \
      TIDEMARK_VULKAN_DIRECTORY=$work/reports timeout 120 "$BUILD/vulkan-small" clean >out 2>err
    sed -n 's/^schedule //p; s/^count timer //p' reports/*.report 2>/dev/null | tr '\n' ' '
    echo
  done >schedules
  why=
  [ "$(sort -u schedules | wc -l)" = 1 ] && grep -q '^0 [0-9a-f]' schedules || why=$(tr '\n' '|' <schedules)
  verdict same_schedule_on_both_drivers "$why"
else
  echo "SKIP same_schedule_on_both_drivers: $swiftshader"
fi

# Installed: the manifest names the library as the system's linker finds it.
if ! meson install -C "$BUILD" --no-rebuild --destdir "$work/root" >install.log 2>&1; then
  echo "FAIL installed: $(excerpt install.log)"
else
  why=
  share=$work/root/usr/local/share/vulkan/explicit_layer.d
  grep -q '"library_path": "libVkLayer_tidemark.so"' "$share/VkLayer_tidemark.json" || why="no manifest with a bare name"
  LD_LIBRARY_PATH=$work/root/usr/local/lib TIDEMARK_LAYER_PATH=$share \
    timeout 60 "$TIDEMARK" vulkan audit -- "$calls" polls >out 2>err || why="$why exit status $?: $(excerpt err)"
  grep -q '^polls: 00009011' out || why="$why prints $(excerpt out)"
  verdict installed "$why"
fi
