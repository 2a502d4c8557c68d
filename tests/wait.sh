# Sourced by tests/cases/*.sh: a test waits for a state, and never for a time. What the machine does meanwhile, and how
# long it takes, decides nothing.

# wait_until COMMAND…: tries the command until it succeeds. The limit is there against hangs alone: then the test has failed.
wait_until() {
  _end=$(($(date +%s) + 240 * ${TEST_SLOWDOWN:-1}))
  until "$@" 2>/dev/null; do
    if [ "$(date +%s)" -ge $_end ]; then
      echo "FAIL wait_until: in vain: $*"
      return 1
    fi
    sleep 0.02
  done
}

# ---- states, for wait_until

shows() { grep -q -e "$2" "$1"; } # FILE PATTERN: a line of the file fits
exists() { [ -e "$1" ] || [ -L "$1" ]; } # a PATH or a pattern that the shell has expanded
is_absent() { ! exists "$1"; } # PATH
# PID: it has ended, though its parent may not have asked yet.
is_over() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status"; }
# PID: all its threads stand still.
is_stopped() { ! cat "/proc/$1/task/"*/status | grep '^State:' | grep -qv 'T (stopped)' && [ -d "/proc/$1" ]; }
# PID: it runs its program, and is no longer the copy of this shell that has this shell's files and signals.
is_program() { [ "$(readlink "/proc/$1/exe")" != "$(readlink /proc/$$/exe)" ]; }
# PID NUMBER: a handler, or a thread that waits for it, will get the signal.
takes_signal() {
  is_program "$1" || return 1
  for _set in SigCgt SigBlk; do
    _mask=$(sed -n "s/^$_set:[[:space:]]*[0-9a-f]*\([0-9a-f]\{8\}\)\$/\1/p" "/proc/$1/status")
    [ $((0x${_mask:-0} >> ($2 - 1) & 1)) = 0 ] || return 0
  done
  return 1
}
# PID PATTERN: its program has a file open whose path fits.
has_open() { is_program "$1" && ls -l "/proc/$1/fd" | grep -q -e "$2"; }
# PID: one of its threads is in a write to stderr that does not end (the numbers of `write`, by machine).
is_writing_errors() { cat "/proc/$1/task/"*/syscall | grep -q '^\(1\|64\) 0x2 '; }
