# Every program of examples/, checked against a sequential run. What it prints, as far as it is the same on
# every machine, is in tests/expected/NAME.txt. To write these anew: UPDATE=1 TIDEMARK=… BUILD=… sh THIS.
: "${BUILD:?}" "${TIDEMARK:?}"
source=$PWD
. tests/vulkan/programs.sh
work=$BUILD/run_examples
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

# How large a PNG gets is the business of the system's zlib.
same_everywhere() { sed -e 1d -e 's/\(output files\{0,1\}\) ([0-9 ]* bytes\{0,1\})/\1/'; }

for program in "$source"/examples/*.tide; do
  name=$(basename "$program" .tide)
  if lacking=$(program_lacks "$name"); then
    echo "SKIP $name: $lacking"
    continue
  fi
  expected=$source/tests/expected/$name.txt
  case $name in
    satellite*) set -- --set width=1000 --set height=700 ;;
    *) set -- ;;
  esac
  if ! timeout 300 "$TIDEMARK" run "$program" --check --paused --stats --quiet-time "$@" >said 2>err; then
    echo "FAIL $name: $(head -c 1000 err)"
    continue
  fi
  same_everywhere <said >told
  if [ -n "${UPDATE-}" ]; then cp told "$expected"; fi
  if [ ! -f "$expected" ]; then echo "FAIL $name: there is no tests/expected/$name.txt"
  elif diff "$expected" told >diff; then echo "PASS $name"
  else echo "FAIL $name: $(tr '\n' '|' <diff)"; fi
  # As it happens, not paused, and as a program of events.
  if timeout 300 "$TIDEMARK" run "$program" --check --baseline events --repeat 1 "$@" >said 2>err; then
    echo "PASS ${name}_events"
  else echo "FAIL ${name}_events: $(head -c 1000 err)"; fi
done

# Something expected of a program that is not there any more?
for expected in "$source"/tests/expected/*.txt; do
  name=$(basename "$expected" .txt)
  [ -f "$source/examples/$name.tide" ] || echo "FAIL stale_$name: examples/$name.tide is gone"
done
