# Every program of examples/ with every output for other programs: the trace and the JSON are valid, and agree.
: "${BUILD:?}" "${TIDEMARK:?}"
source=$PWD
. tests/vulkan/programs.sh
work=$BUILD/traces
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; }
valid_json='import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))'

for program in "$source"/examples/*.tide; do
  name=$(basename "$program" .tide)
  if lacking=$(program_lacks "$name"); then
    echo "SKIP $name: $lacking"
    continue
  fi
  set --
  case $name in satellite*) set -- --set width=1000 --set height=700 ;; esac
  if [ "$name" = fleet ]; then set -- --set together=0; fi # else it waits for a collective only
  if "$TIDEMARK" run "$program" "$@" --paused --trace trace.json --json >said 2>err &&
    python3 "$source/tests/cases/trace_valid.py" trace.json said 2>err; then pass "$name"; else fail "$name" "$(tail -n 3 err)"; fi
  if "$TIDEMARK" run "$program" "$@" --check --stats --baseline barrier --repeat 1 --trace online.json --json >said 2>err &&
    python3 -c "$valid_json" said 2>err && python3 -c "$valid_json" online.json 2>err; then pass "${name}_barrier"
  elif grep -q 'a program of barriers cannot' err; then pass "${name}_barrier"
  else fail "${name}_barrier" "$(tail -n 3 err)"; fi
  if "$TIDEMARK" explain "$program" "$@" --json >said 2>err && python3 -c "$valid_json" said 2>err; then pass "${name}_explain"
  else fail "${name}_explain" "$(tail -n 3 err)"; fi
done

# Bytes that are no UTF-8, and letters that are cut where a label's room ends.
printf 'device c cpu\nqueue q on c\nbuffer b 8\nq: fill b label "\377\376 caf\351 \360\235\204\236"\n' >bytes.tide
for n in 0 1 2 3; do
  printf 'q: fill b label "%.*sééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé' $n xxx
  printf 'éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé"\n'
done >>bytes.tide
odd=$(printf 'b\351d.tide')
cp bytes.tide "$odd"
for file in bytes.tide "$odd"; do
  if "$TIDEMARK" run "$file" --trace trace.json --paused --json >said 2>err && python3 -c "$valid_json" said 2>err &&
    python3 -c "$valid_json" trace.json 2>err && "$TIDEMARK" explain "$file" --json >said 2>err &&
    python3 -c "$valid_json" said 2>err; then pass "utf8_${#file}"; else fail "utf8_${#file}" "$(tail -n 3 err)"; fi
done
if [ "$(grep -c 'é\\""' said)" = 4 ]; then pass cut_between_letters; else fail cut_between_letters "$(grep operation said)"; fi
