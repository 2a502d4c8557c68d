# Each wrong change of weave/mutants must be found by the case that it names, and for the reason
# that it names. Prints what was found, and in which run.
#   sh weave/mutants.sh [NAME…]
: "${BUILD:?}"
cd "$(dirname "$0")/mutants" || exit 1
[ $# -gt 0 ] || set -- *
for mutant; do
  found=$(sed -n 's/^found by //p' "$mutant")
  case_name=${found%%:*}
  says=${found#*: }
  "$BUILD/mutant-$mutant" "${case_name#* }" >"$BUILD/mutant-$mutant.out" 2>&1
  status=$?
  line=$(grep '^FAIL ' "$BUILD/mutant-$mutant.out")
  case $status:$line in
    1:*"$says"*) echo "PASS $mutant"; echo "     ${case_name% *}/${line#FAIL }" ;;
    *) echo "FAIL $mutant: exit status $status, and not '$says': $(tail -n 1 "$BUILD/mutant-$mutant.out")" ;;
  esac
done
