# The harness itself: what must fail is seen to fail, for the right reason.
out=$("$BUILD/selftest-harness" 2>/dev/null)
status=$?

if [ $status = 1 ]; then echo "PASS exit_status"; else echo "FAIL exit_status: $status"; fi
expect() { # name, the line
  if printf '%s\n' "$out" | grep -q "^$2"; then echo "PASS $1"; else
    echo "FAIL $1: no line '$2' in: $(printf '%s\n' "$out" | grep " $1" | tr '\n' ' ')"
  fi
}
expect good 'PASS good$'
expect check 'FAIL check: harness.c:[0-9]*: not true: zero$'
expect text 'FAIL text: harness.c:[0-9]*: two_lines is "one two", not "three"$'
expect status 'FAIL status: harness.c:[0-9]*: 7 is TIDE_VALUE, not TIDE_OK$'
expect crash 'FAIL crash: killed by signal 6 '
expect hang 'FAIL hang: hung for '
expect descriptor 'FAIL descriptor: .*descriptor [0-9]* was left open '
expect thread_left 'FAIL thread_left: .*1 threads were left running$'
expect thread_check 'FAIL thread_check: harness.c:[0-9]*: 2 + (uint64_t)zero is 2, not 3$'
expect early_exit 'FAIL early_exit: ended without a verdict'
expect exit_status_3 'FAIL exit_status: ended with exit status 3'
expect skipped 'SKIP skipped: because of reasons$'
count=$(printf '%s\n' "$out" | grep -c .)
if [ "$count" = 12 ]; then echo "PASS one_line_a_case"; else echo "FAIL one_line_a_case: $count lines"; fi
