# tidemark patterns --report: all files are there, and say what was measured; a report that lies is found out.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/report
rm -rf "$work"
mkdir -p "$work"
here=$(pwd)
cd "$work" || exit 1
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2: $(tr '\n' '|' <said)"; }
patterns() { # STATUS OPTIONS…
  want=$1
  shift
  timeout -k 5 600 "$TIDEMARK" patterns "$@" >said 2>&1
  status=$?
  [ $status = "$want" ]
}
valid() { python3 "$here/tests/cases/report_valid.py" "$1" >said 2>&1; }

if patterns 0 --report out --quick C_SRS G_STN && grep -q 'it takes about [0-9]* s' said; then pass report
else fail report "exit status $status"; fi
if valid out && [ "$(cat said)" -ge 5 ]; then pass valid; else fail valid "it lies"; fi
if [ -s out/report.md ] && [ -s out/grid.md ] && [ "$(find out -name '*.svg' | wc -l)" = "$(cat said)" ]; then pass files
else fail files "one is missing"; fi

# ---- lies: a number of a figure, of a drawing, of a table, of a cell; a figure without a drawing
lie() { # NAME FILE SED
  rm -rf lie
  cp -r out lie
  sed -i "$3" "lie/$2"
  if cmp -s "out/$2" "lie/$2"; then fail "lie_$1" "nothing is changed"
  elif valid lie; then fail "lie_$1" "it was believed"
  else pass "lie_$1"; fi
}
figure=12a-speed-up
[ -f out/$figure.svg ] || figure=12b-speed-up-shared
lie figure report.json '/"row":"geometric mean"/s/"values":\[\([0-9]\)/"values":[9\1/'
lie cell report.json '0,/"way":"futex"/s/\("way":"futex".*"ns":\)[0-9]*\(,"low":\)[0-9]*,"high":[0-9]*/\1999\2999,"high":999/'
lie drawing $figure.svg "0,/data-value='/s/data-value='/data-value='1/"
lie table report.md '/^| geometric mean/s/| \([0-9]\)/| 7\1/'
lie grid grid.md '/^| G_STN/s/\([0-9]\)\./9\1./'
lie waiting report.json 's/"both_ns":[0-9]*/"both_ns":1/'
rm -rf lie
cp -r out lie
rm lie/$figure.svg
if valid lie; then fail lie_missing "it was believed"; else pass lie_missing; fi

# ---- the page of the documentation is made from it
mkdir -p page/docs
drawn=0
for name in 12a-speed-up 13a-not-at-tc-fibers 14-hidden 16a-scaling; do [ ! -f out/$name.svg ] || drawn=$((drawn + 1)); done
cp -r "$here/scripts" page/
cp "$here/docs/wic.md" page/docs/
if TIDEMARK=none page/scripts/wic-report ../out >said 2>&1 && [ "$(grep -c '^| G_STN |' page/docs/wic.md)" -ge 3 ] &&
  [ "$(grep -c '^!\[.*(figures/wic-.*svg)$' page/docs/wic.md)" = $drawn ] && grep -q '^## Not yet' page/docs/wic.md &&
  ! grep -q '^| % of the time' page/docs/wic.md && TIDEMARK=none page/scripts/wic-report ../out >said 2>&1 &&
  [ "$(grep -c '^\*\*Left out' page/docs/wic.md)" = 1 ]; then pass page
else fail page "it is not whole"; fi

# ---- wrong usage, and folders that cannot be
good=yes
wrong() {
  patterns 2 "$@" && grep -q '^tidemark patterns: .*; see tidemark patterns --help$' said || { good=no; echo "$*" >wrong; }
}
wrong --report
wrong --report=
wrong --report other --json
wrong --report other --consumers 4
wrong --report other --shared
wrong --report other --way futex
wrong --report other generator
wrong --quick
wrong --rounds 3
wrong --report other --rounds 16
if [ $good = yes ] && [ ! -e other ]; then pass wrong_usage; else fail wrong_usage "$(cat wrong)"; fi
: >file
if patterns 1 --report file --quick C_SRS && grep -q '^tidemark patterns: file' said && patterns 1 --report none/such --quick &&
  grep -q '^tidemark patterns: none/such: ' said; then pass folders
else fail folders "exit status $status"; fi
