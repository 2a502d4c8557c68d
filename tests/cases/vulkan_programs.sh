# tidemark vulkan on real, unmodified programs (tests/vulkan/programs.sh): their output is the same in every legal order,
# waits that audit calls superfluous are, and a dropped edge is noticed. Takes 4 minutes on 2 cores.
#
# With ./test --ci 5 seeds and 3 edges; with ./test --all 20 seeds, all edges, 100 runs of one seed; else one program.
# VULKAN_PROGRAMS: only these.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
BUILD=$(cd "$BUILD" && pwd) SOURCE=$PWD
layers=${TIDEMARK_LAYER_PATH:-$BUILD/layer}
if [ ! -f "$layers/VkLayer_tidemark.json" ]; then
  echo "SKIP vulkan_programs: the layer was not built: the Vulkan headers are missing"
  exit 0
fi
. tests/vulkan/programs.sh

work=$BUILD/vulkan_programs
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
case ${TEST_TIER-short} in all) seeds=20 edges_most=1000 repeats=100 ;; *) seeds=5 edges_most=3 repeats=5 ;; esac
mark=TIDEMARK_TEST_MARK=vulkan-programs-$$
load_process=
trap 'display_stop; stop_load' EXIT
trap 'exit 1' HUP INT TERM

verdict() { # name, what is wrong
  if [ -z "$2" ]; then echo "PASS $1"; else echo "FAIL $1: $2"; fi
}
# What options add to the name of a check: "--drop known,seen" is "_drop_known_seen".
suffix() { printf %s "$*" | sed 's/[^a-z][^a-z]*/_/g; s/^[a-z]/_&/'; }
excerpt() { head -c 400 "$1" | tr '\n' ' '; }

# ---- the tool --------------------------------------------------------------------------

# A value of report.json: an expression of python with `r`, the report.
value() {
  python3 -c 'import json, sys
r = json.load(open("report.json"))
print(eval(f"({sys.argv[1]})"))' "$1" 2>&1
}

# explore WORDS -- COMMAND: leaves the exit status in $status, and report.json.
explore() {
  rm -f report.json
  env "$mark" timeout 1000 "$TIDEMARK" vulkan explore --json --report report.json --compare stdout --limit 60s "$@" \
    >said 2>err
  status=$?
}

# Processes of the tool or the program that outlived a run.
leftovers() {
  grep -lazx -e "$mark" /proc/[0-9]*/environ 2>/dev/null | while read -r environ; do
    left=${environ#/proc/}
    left=${left%/environ}
    # Not the process that runs this function, and none that is ending.
    case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$left/status" 2>/dev/null) in '' | Z* | X*) continue ;; esac
    tr '\0' ' ' <"/proc/$left/cmdline"
    echo "(process $left)"
  done
}

# ---- checks, each of one program -------------------------------------------------------

# The program alone, twice.
check_plain() { # name, command
  why=
  timeout 60 "$2" >plain 2>err || why="exit status $?: $(excerpt err)"
  timeout 60 "$2" >again 2>err || why="exit status $? at the second run: $(excerpt err)"
  [ -n "$why" ] || cmp -s plain again || why="another run prints something else"
  [ "$1" = vkcube ] || [ -s plain ] || why="prints nothing"
  verdict "$1_plain" "$why"
  [ -z "$why" ]
}

# Every order gives the same bytes. Exit status 3 is "not explored": no choices.
check_explore() { # name, command, statuses, words
  name=$1 command=$2 statuses=$3
  shift 3
  explore --seeds $seeds "$@" -- "$command"
  why="exit status $status, expected $statuses: $(excerpt err) $(value '[(x["seed"], x["failures"], x["account"]) for x in r["runs"] if x["failures"]][:2]')"
  case " $statuses " in *" $status "*) why= ;; esac
  [ "$status" != 3 ] || [ "$(value 'r["result"]')" = "not explored" ] || why="result: $(value 'r["result"]')"
  [ "$status" != 0 ] || [ "$(value 'r["result"], r["counts"]["choices"] > 0')" = "('nothing found', True)" ] ||
    why="result: $(value 'r["result"], r["counts"]')"
  [ -n "$why" ] || [ "$(value 'sum(x["ended"]["processes_left"] for x in r["runs"])')" = 0 ] || why="left processes running"
  verdict "${name}_explore$(suffix "$@")" "$why"
}

check_audit() { # name, command
  env "$mark" timeout 300 "$TIDEMARK" vulkan audit --json --report report.json --limit 60s -- "$2" >said 2>err
  status=$? why=
  classes='("own", "known", "sibling", "seen", "needed")'
  if [ $status != 0 ]; then why="exit status $status: $(excerpt err)"
  elif ! cmp -s said plain; then why="the program prints something else"
  elif [ "$(value "all(sum(x['counts'][c] for c in $classes) == x['counts']['waits'] for x in r['reports'])")" != True ]; then
    why="the classes do not add up: $(value '[x["counts"] for x in r["reports"]]')"
  elif [ "$(value 'all(sum(w["count"] for w in x["waits"]) == x["counts"]["waits"] for x in r["reports"])')" != True ]; then
    why="the listed waits do not add up: $(value '[(sum(w["count"] for w in x["waits"]), x["counts"]["waits"]) for x in r["reports"]]')"
  fi
  verdict "$1_audit" "$why"
}

# Some seed notices that an edge is missing: other bytes, a value that goes backwards, or a hang that is explained.
check_edge() { # command, edge
  for more in "$seeds" 30; do
    explore --no-shrink --seeds "$more" --limit 10s --drop-edge "$2" -- "$1"
    [ $status = 0 ] || [ $status = 3 ] || break
  done
  noticed=$(value '"crash" if any("crash" in x["failures"] for x in r["runs"]) else
    "unexplained hang" if any("hang" in x["failures"] and not x["account"] for x in r["runs"]) else
    any("differs" in x["failures"] or "hang" in x["failures"] for x in r["runs"]) or
    any(f["kind"] == "value-backwards" for f in r["findings"])')
  [ "$noticed" = True ] || echo "edge $2: exit status $status, $noticed, $(value '[(x["seed"], x["failures"]) for x in r["runs"] if x["failures"]], r["counts"]') $(excerpt err)"
}

# The edges of the order in which submissions come; of many, as many as edges_most, evenly spread.
check_edges() { # name, command; one in ten edges may go unnoticed
  rm -rf saved
  mkdir saved
  explore --seed 0 --save saved -- "$2"
  listed=$(cat saved/seed-0*.report 2>/dev/null | sed -n 's/^edge \([0-9]*\) .*/\1/p')
  count=$(printf '%s\n' "$listed" | grep -c .)
  if ! ls saved/seed-0*.report >/dev/null 2>&1; then
    echo "FAIL $1_edges: no report came"
    return
  elif [ "$count" = 0 ]; then
    echo "SKIP $1_edges: its waits make no edge between queues"
    return
  fi
  chosen=$(printf '%s\n' "$listed" |
    awk -v all="$count" -v most="$edges_most" 'all <= most || int(NR * most / all) != int((NR - 1) * most / all)')
  why= unnoticed=0 tried=0
  for edge in $chosen; do
    tried=$((tried + 1))
    missed=$(check_edge "$2" "$edge")
    [ -z "$missed" ] || unnoticed=$((unnoticed + 1)) why="$why$missed"
  done
  [ $((unnoticed * 10)) -gt $tried ] || why=
  verdict "$1_edges" "$why"
}

# ---- one schedule ----------------------------------------------------------------------

start_load() { sh -c 'while :; do :; done' & load_process=$!; }
stop_load() {
  [ -n "$load_process" ] || return 0
  kill "$load_process" 2>/dev/null
  wait "$load_process" 2>/dev/null
  load_process=
}

# One run without the tool, as layer/protocol.h says: prints "TIMER-PICKS SUBMISSIONS SCHEDULE".
run_seed() { # command, options of the layer
  rm -rf layer
  mkdir layer
  env VK_LAYER_PATH="$layers" VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality TIDEMARK_VULKAN="$2" \
    TIDEMARK_VULKAN_DIRECTORY="$work/layer" "$mark" timeout 60 "$1" >said 2>err || echo "failed: exit status $?"
  cmp -s said plain || echo "failed: prints something else"
  [ -n "$(ls layer)" ] || echo "failed: no report came"
  cat layer/*.report 2>/dev/null |
    awk '/^count timer /{timer = $3} /^count submissions /{all = $3} /^schedule /{print timer + 0, all, $2}'
}

# The same seed makes the same picks, also on a busy machine. A timer pick depends on time, and says so. A program may itself
# submit more or less from run to run (mpv redraws for X): runs with as many submissions are compared.
check_schedule() { # name, command, options of the layer
  label=$1_schedule$(suffix "$3")
  start_load
  i=0
  while [ $i -lt $repeats ]; do
    i=$((i + 1))
    run_seed "$2" "explore,seed=3$3"
  done >runs
  stop_load
  untimed=$(grep -c '^0 ' runs)
  different=$(grep '^0 ' runs | sort -u | cut -d ' ' -f 2 | uniq -d | tr '\n' ' ')
  if grep -q failed runs; then echo "FAIL $label: $(grep -m 1 failed runs)"
  elif [ "$untimed" -lt 2 ]; then echo "SKIP $label: all but $untimed of $repeats runs had timer picks"
  elif [ -n "$different" ]; then echo "FAIL $label: several schedules of as many submissions: $different"
  else echo "PASS $label"; fi
}

# ---- all programs ----------------------------------------------------------------------

all_checks() { # name, command
  check_plain "$1" "$2" || return
  check_audit "$1" "$2"
  case $1 in
    ffmpeg_placebo) # one queue is enough for libplacebo
      check_explore "$1" "$2" '0 3'
      check_explore "$1" "$2" '0 3' --in-queue
      check_explore "$1" "$2" '0 3' --families
      check_explore "$1" "$2" '0 3' --drop known,sibling,seen
      ;;
    ffmpeg_*)
      check_explore "$1" "$2" 0
      check_explore "$1" "$2" 0 --in-queue
      check_explore "$1" "$2" 0 --families
      check_explore "$1" "$2" 0 --families --in-queue
      check_explore "$1" "$2" 0 --drop known,sibling,seen
      check_explore "$1" "$2" 0 --drop known,sibling,seen --in-queue
      ;;
    mpv_*)
      check_explore "$1" "$2" '0 3'
      check_explore "$1" "$2" '0 3' --families
      check_explore "$1" "$2" '0 3' --drop known,sibling,seen
      ;;
    *) check_explore "$1" "$2" 3 ;;
  esac
  case $1 in
    ffmpeg_* | mpv_*)
      check_edges "$1" "$2"
      check_schedule "$1" "$2" ''
      check_schedule "$1" "$2" ,families
      ;;
  esac
}

no_display=
display_start "$work/programs" >display_said || no_display=$(cat display_said)
case ${TEST_TIER-short} in
  short) all=ffmpeg_blur ;;
  *) all='ffmpeg_blur ffmpeg_overlay ffmpeg_placebo mpv_gpu mpv_next vkcube dawn' ;;
esac
for name in ${VULKAN_PROGRAMS:-$all}; do
  case $name in mpv_* | vkcube) [ -z "$no_display" ] || { echo "SKIP $name: $no_display"; continue; } ;; esac
  if command=$("program_$name" "$work/programs"); then all_checks "$name" "$command"
  else echo "SKIP $name: $command"; fi
done
# What was killed may need a moment to be gone.
left=$(leftovers)
nothing_is_left() { left=$(leftovers); [ -z "$left" ]; }
wait_until nothing_is_left
verdict programs_nothing_left "$(printf %s "$left" | tr '\n' ' ')"
