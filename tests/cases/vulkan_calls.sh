# The Vulkan layer: calls that are easy to get wrong (tests/vulkan/calls), a driver that loses its device
# (tests/vulkan/faulty), the layer without the tool and as it is installed.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
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
faulty=$BUILD/tests/vulkan/faulty

# Another layer of this name may be installed, and the loader may prefer it. All below runs beside one that the user has
# installed (the faulty driver plays it). Without the tool, VK_LAYER_PATH keeps the loader from it; the tool needs no help.
unset VK_LAYER_PATH VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS TIDEMARK_LAYER_PATH
XDG_DATA_HOME=$work/home
export XDG_DATA_HOME
mkdir -p "$XDG_DATA_HOME/vulkan/explicit_layer.d"
sed "s,VK_LAYER_TIDEMARK_TEST_faulty,VK_LAYER_TIDEMARK_causality,; s,\./lib,$faulty/lib," "$faulty/VkLayer_faulty.json" \
  >"$XDG_DATA_HOME/vulkan/explicit_layer.d/installed.json"

verdict() { # name, what is wrong
  if [ -z "$2" ]; then echo "PASS $1"; else echo "FAIL $1: $2"; fi
}
excerpt() { tail -n 8 "$1" | cut -c 1-300 | tr '\n' '|'; }

# The planted one is found, where no other folder of data is.
why=
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality XDG_DATA_DIRS=$work/none FAULTY_SUBMIT=1 timeout 60 "$calls" lost >out 2>err ||
  why="exit status $?: $(excerpt err)"
grep -q '^lost: VK_ERROR_DEVICE_LOST$' out || why="$why prints $(excerpt out)"
verdict another_layer_is_installed "$why"

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

# The report names the layer of this build, also beside the user's own folders.
answers() { # NAME VARIABLE=VALUE…
  name=$1 why=
  shift
  env "$@" timeout 60 "$TIDEMARK" vulkan audit -- "$calls" polls >out 2>err || why="exit status $?: $(excerpt err)"
  grep -q "^  layer: [0-9.]*, build [0-9a-f]*, $layers/libVkLayer_tidemark.so$" err || why="$why says $(excerpt err)"
  verdict "$name" "$why"
}
answers layer_of_this_build A=
answers layer_beside_added_folders VK_ADD_LAYER_PATH="$XDG_DATA_HOME/vulkan/explicit_layer.d"
answers layer_beside_given_folders VK_LAYER_PATH="$XDG_DATA_HOME/vulkan/explicit_layer.d"
answers layer_beside_another_that_is_named VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality
# The user's layers work, too: this one loses the device.
for variable in VK_LAYER_PATH VK_ADD_LAYER_PATH; do
  why=
  env $variable="$faulty" VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_TEST_faulty FAULTY_SUBMIT=6 \
    timeout 60 "$TIDEMARK" vulkan audit -- "$calls" lost >out 2>err
  grep -q '^lost: VK_ERROR_DEVICE_LOST$' out || why="prints $(excerpt out)"
  grep -q "^  layer: .*, $layers/libVkLayer_tidemark.so$" err || why="$why says $(excerpt err)"
  verdict "user_layer_$variable" "$why"
done
# A layer of another build is refused.
build=$(sed -n 's/^  layer: .*, build \([0-9a-f]*\),.*/\1/p' err)
mkdir -p other
sed "s/$build/00c0ffee0000/g" "$layers/libVkLayer_tidemark.so" >other/libVkLayer_tidemark.so
for mode in audit explore; do
  why=
  TIDEMARK_LAYER_PATH=other timeout 60 "$TIDEMARK" vulkan $mode -- "$calls" polls >out 2>err
  status=$?
  [ $status = 1 ] || why="exit status $status"
  grep -q "another layer answered: expected [0-9.]*, build $build, from '.*'; came [0-9.]*, build 00c0ffee0000, from '$work/other/lib" err ||
    why="$why says $(excerpt err)"
  verdict "other_build_$mode" "$why"
done

# A wait is known only by what the earlier one stands for.
why=
"$TIDEMARK" vulkan audit -- "$calls" stages >out 2>err || why="exit status $?"
grep -q 'known 1, own 2' err || why="$why $(excerpt err)"
verdict narrow_signals "$why"

# A present has no commands that a barrier could stand between: its wait is needed, although the queue itself signals it.
why=
rm -rf reports
mkdir reports
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality:VK_LAYER_TIDEMARK_TEST_faulty VK_LAYER_PATH=$layers:$faulty \
  TIDEMARK_VULKAN=audit TIDEMARK_VULKAN_DIRECTORY=$work/reports timeout 60 "$calls" presents >out 2>err || why="exit status $?: $(excerpt err)"
grep -q '^presents: 000005ee 000005ee$' out || why="$why prints $(excerpt out)"
if ! grep -qx 'count own 0' reports/*.report || ! grep -qx 'count needed 3' reports/*.report; then why="$why $(grep -h '^count [osn]' reports/*.report | tr '\n' '|')"; fi
verdict presents_are_needed "$why"

# A device that waits for the host's next signal is no cycle.
why=
timeout 60 "$TIDEMARK" vulkan explain --limit 150ms -- "$calls" pingpong >out 2>err
if grep -q 'finding' err; then why=$(excerpt err); fi
verdict host_signals_are_no_cycle "$why"

# Plain, this program hangs on one queue. Virtual queues let its signal come after the wait.
why=
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_LAYER_PATH=$layers TIDEMARK_VULKAN=explore,queues=2 \
  timeout 60 "$calls" crossed >out 2>err || why="exit status $?: $(excerpt err)"
grep -q '^crossed: 0000c055 0000c055$' out || why="$why prints $(excerpt out)"
verdict signal_after_wait "$why"

# A lost device: the report comes at once, and tells what was under way. The faulty layer is below.
for mode in explain audit explore,seed=2; do
  rm -rf reports
  mkdir reports
  why=
  VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality:VK_LAYER_TIDEMARK_TEST_faulty FAULTY_SUBMIT=6 \
    VK_LAYER_PATH=$layers:$faulty TIDEMARK_VULKAN=$mode TIDEMARK_VULKAN_DIRECTORY=$work/reports \
    timeout 60 "$calls" lost >out 2>err || why="exit status $?: $(excerpt err)"
  grep -q '^lost: VK_ERROR_DEVICE_LOST$' out || why="$why prints $(excerpt out)"
  report=$(ls reports/*.report 2>/dev/null | head -n 1)
  if [ -z "$report" ]; then why="$why no report"
  elif ! grep -q '^finding device-lost ' "$report"; then why="$why $(excerpt "$report")"; fi
  verdict "lost_${mode%%,*}" "$why"
done

# Without the tool: SIGQUIT asks a hanging program for its report, on stderr; it goes on.
# (Sent again: the handler is there once the instance is made, and the cycle once both threads wait.)
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_LAYER_PATH=$layers timeout 600 "$calls" crossed >out 2>err &
process=$!
why=
tells_a_cycle() {
  read -r main _ <"/proc/$process/task/$process/children"
  # Before its exec the child is a copy of timeout, with timeout's handlers.
  case $(readlink "/proc/$main/exe") in */vulkan-calls) ;; *) return 1 ;; esac
  if takes_signal "$main" 3; then kill -QUIT "$main"; fi
  shows err 'text .*CYCLE'
}
wait_until tells_a_cycle || why="no report came"
[ -z "$why" ] || [ ! -s err ] || why="no cycle in $(excerpt err)"
[ -n "$why" ] || kill -0 "$main" || why="the program has ended"
kill -KILL "$main" 2>/dev/null
wait $process 2>/dev/null
verdict report_without_the_tool "$why"

# Options that cannot be understood: the program runs, untouched, and the reason is told.
why=
VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_LAYER_PATH=$layers TIDEMARK_VULKAN=explore,sead=3 \
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
  growth=$(VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_LAYER_PATH=$layers TIDEMARK_VULKAN=$mode \
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
    VK_ICD_FILENAMES=$icd VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality VK_LAYER_PATH=$layers TIDEMARK_VULKAN=explore,seed=7 \
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
  TIDEMARK_LAYER_PATH=$work/root/usr/local/lib timeout 60 "$TIDEMARK" vulkan audit -- "$calls" polls >out 2>err ||
    why="$why exit status $?: $(excerpt err)"
  grep -q '^polls: 00009011' out || why="$why prints $(excerpt out)"
  grep -q "^  layer: .*, $work/root/usr/local/lib/libVkLayer_tidemark.so$" err || why="$why says $(excerpt err)"
  verdict installed "$why"
  # Without the tool: the loader finds the manifest, and the system's linker the library.
  rm -rf reports
  mkdir reports
  why=
  LD_LIBRARY_PATH=$work/root/usr/local/lib VK_LAYER_PATH=$share VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality TIDEMARK_VULKAN=audit \
    TIDEMARK_VULKAN_DIRECTORY=$work/reports timeout 60 "$calls" polls >out 2>err || why="exit status $?: $(excerpt err)"
  grep -q "^layer .* $work/root/usr/local/lib/libVkLayer_tidemark.so$" reports/*.report || why="$why reports $(ls reports)"
  verdict installed_without_the_tool "$why"
fi
