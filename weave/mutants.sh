# Each wrong change of weave/mutants must be found by the cases that it names, and for the reasons
# that it names; and each case must find one. Prints what was found, and in which run.
#   sh weave/mutants.sh [NAME…]
: "${BUILD:?}"
cd "$(dirname "$0")/mutants" || exit 1
all=no
if [ $# = 0 ]; then
  all=yes
  set -- *
fi
for mutant; do
  sed -n 's/^found by //p' "$mutant" | while read -r program case_name says; do
    "$BUILD/mutant-$mutant" "${case_name%:}" >"$BUILD/mutant-$mutant.out" 2>&1
    status=$?
    line=$(grep '^FAIL ' "$BUILD/mutant-$mutant.out")
    case $status:$line in
      1:*"$says"*) echo "PASS $mutant ${case_name%:}"; echo "     $program/${line#FAIL }" ;;
      *) echo "FAIL $mutant ${case_name%:}: exit status $status, and not '$says': $(tail -n 1 "$BUILD/mutant-$mutant.out")" ;;
    esac
  done
done
[ $all = yes ] || exit 0
# What is printed runs the same order again, and fails in its only run.
schedule=$("$BUILD/mutant-wait-no-wake" signal_wait 2>&1 | sed -n 's/.*WEAVE_SCHEDULE=//p')
again=$(WEAVE_SCHEDULE=$schedule "$BUILD/mutant-wait-no-wake" signal_wait 2>&1 | tail -n 1)
case $again in
  *'run 1: nobody can go on'*) echo "PASS schedule_runs_again" ;;
  *) echo "FAIL schedule_runs_again: $schedule: $again" ;;
esac
missing=
for program in "$BUILD"/weave-*; do
  name=${program##*/weave-}
  if [ "$name" = self ] || [ ! -x "$program" ] || [ ! -f "$program" ]; then continue; fi
  for case_name in $("$program" --list); do
    grep -q "^found by $name $case_name:" ./* || missing="$missing $name/$case_name"
  done
done
if [ -z "$missing" ]; then echo "PASS every_case_finds_something"
else echo "FAIL every_case_finds_something: no wrong change is named for$missing"; fi
