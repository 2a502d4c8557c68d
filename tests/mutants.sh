# Each wrong change of tests/mutants is found by the case that it names, and for the reason that it
# names; each case of interleave/ finds one. Prints what was found, and in which run.
#   sh tests/mutants.sh KIND [NAME…]    KIND: interleave, oracle, simulation, fuzz: the suite of the program
: "${BUILD:?}"
kind=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/tests/mutants" || exit 1
all=no
if [ $# = 0 ]; then
  all=yes
  # shellcheck disable=SC2046
  set -- $(grep -l "^found by $kind-" ./* | sed 's,.*/,,')
fi

run() { # MUTANT PROGRAM CASE…
  mutant=$1 program=$2
  shift 2
  if [ "$kind" != fuzz ]; then
    "$BUILD/mutant-$mutant" "$@" 2>&1
    return
  fi
  new=$BUILD-fuzz/corpus-$mutant
  rm -rf "$new"
  mkdir -p "$new"
  seeds=$root/tests/fuzz/corpus/$program
  [ -d "$seeds" ] || seeds=
  # shellcheck disable=SC2086
  "$BUILD-fuzz/mutant-$mutant" -seed=1 -runs=20000000 -max_len=64 -max_total_time=120 -artifact_prefix="$new/" "$new" $seeds 2>&1
}

# A mutant without a program of some kind, or without what the failure says, would be looked for by no run.
if [ $all = yes ] && [ "$kind" = oracle ]; then
  for mutant in *; do
    grep -Eq '^found by (interleave|oracle|simulation|fuzz)-[a-z_]+( [^:]*)?: .' "$mutant" ||
      echo "FAIL $mutant: no line 'found by PROGRAM CASE: what the failure says'"
  done
fi
for mutant; do
  sed -n "s/^found by $kind-//p" "$mutant" | while IFS= read -r line; do
    says=${line#*: } given=${line%%: *}
    program=${given%% *} given=${given#"$program"}
    out=$BUILD/mutant-$mutant.out
    # shellcheck disable=SC2086
    run "$mutant" "$program" $given >"$out"
    status=$?
    line=$(grep -e '^FAIL ' -e '^SUMMARY: ' "$out")
    case $status:$line in
      1:*"$says"* | 7[0-9]:*"$says"*) echo "PASS $mutant$given"
        printf '     %-28s %.110s\n' "$mutant" "${line#*.c:[0-9]*: }" ;;
      *) echo "FAIL $mutant$given: exit status $status, and not '$says': $(tail -n 1 "$out")" ;;
    esac
  done
done
if [ $all = no ] || [ "$kind" != interleave ]; then exit 0; fi
# What is printed runs the same order again, and fails in its only run.
schedule=$("$BUILD/mutant-wait-no-wake" signal_wait 2>&1 | sed -n 's/.*INTERLEAVE_SCHEDULE=//p')
again=$(INTERLEAVE_SCHEDULE=$schedule "$BUILD/mutant-wait-no-wake" signal_wait 2>&1 | tail -n 1)
case $again in
  *'run 1: nobody can go on'*) echo "PASS schedule_runs_again" ;;
  *) echo "FAIL schedule_runs_again: $schedule: $again" ;;
esac
missing=
for program in "$BUILD"/interleave-*; do
  name=${program##*/}
  if [ "$name" = interleave-self ] || [ ! -x "$program" ] || [ ! -f "$program" ]; then continue; fi
  for case_name in $("$program" --list); do
    grep -q "^found by $name $case_name:" ./* || missing="$missing $name/$case_name"
  done
done
if [ -z "$missing" ]; then echo "PASS every_case_finds_something"
else echo "FAIL every_case_finds_something: no wrong change is named for$missing"; fi
