# What may never come: a system call that is refused for good, a FIFO that no process writes, an input without an
# end, a stderr that stalls, a transfer that is stuck. Each ends, and says why; the limits are there against hangs only.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
work=$BUILD/run_ends
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
limit=$((60 * ${TEST_SLOWDOWN:-1}))
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; }
# ended NAME PATTERN STATUS [WANTED]: what just ran ended so, and said so on stderr (in err).
ended() {
  if [ "$3" = "${4-1}" ] && grep -Eq -e "$2" err; then pass "$1"; else fail "$1" "exit status $3: $(cat err)"; fi
}
cat >copy.tide <<'E'
device c cpu
device disk file
queue q on c
queue f on disk
timeline t
buffer b 256K
buffer e 256K
file one write "o/a.raw"
file in read "in.raw"
q: fill b, 7 signal t = 1
f: write one, 0, b wait t >= 1
f: read in, 0, e
E
head -c 262144 /dev/zero | tr '\0' '\7' >sevens
cp sevens in.raw

# ---- refused for good
denied() { # NAME CALL ERRNO PATTERN
  timeout $limit "$BUILD/selftest-deny" "$2" "$3" "$TIDEMARK" run copy.tide >said 2>err
  status=$?
  if [ $status = 77 ]; then echo "SKIP $1: no seccomp filters here"
  elif [ $status = 0 ] && ! grep -q io_uring said; then echo "SKIP $1: no io_uring here"
  else ended "$1" "$4" $status; fi
  rm -rf o
}
denied enter_forbidden io_uring_enter 1 "device 'disk' was lost: io_uring_enter: Operation not permitted"
denied enter_again io_uring_enter 11 "^copy.tide:11:1: .*device 'disk' was lost: io_uring_enter: Resource temporarily"
denied enter_busy io_uring_enter 16 "^copy.tide:11:1: .*device 'disk' was lost: io_uring_enter: Device or resource busy"
denied enter_interrupted io_uring_enter 4 "^copy.tide:11:1: .*device 'disk' was lost: io_uring_enter: Interrupted"
for error in 1 38; do
  timeout $limit "$BUILD/selftest-deny" linkat $error "$TIDEMARK" run copy.tide >said 2>err
  status=$?
  if [ $status = 77 ]; then echo "SKIP linkat_$error: no seccomp filters here"
  elif [ $status = 0 ] && cmp -s o/a.raw sevens && [ "$(find o -type f)" = o/a.raw ]; then pass linkat_$error
  else fail linkat_$error "exit status $status: $(cat err) $(find o)"; fi
  rm -rf o
done

# ---- FIFOs and inputs without an end
mkfifo fifo
sed 's/in.raw/fifo/' copy.tide >fifo.tide
timeout $limit "$TIDEMARK" run fifo.tide >said 2>err
ended fifo_input "^fifo.tide:9:6: file 'in': cannot read 'fifo': it is a FIFO that no process writes" $?
timeout $limit "$TIDEMARK" run fifo >said 2>err
ended fifo_program 'fifo: it is a FIFO that no process writes' $?
timeout $limit "$TIDEMARK" mods check fifo >said 2>err
ended fifo_module 'fifo: it is a FIFO that no process writes' $?
timeout $limit "$TIDEMARK" run copy.tide --input fifo >said 2>err
ended fifo_image 'input fifo: it is no regular file' $?
timeout $limit "$TIDEMARK" run copy.tide --plugin ./fifo >said 2>err
ended fifo_plugin 'plugin ./fifo: it is no regular file' $?
# The FIFO has a writer before the run looks, who goes once the run has it open, so that it ends.
run_fed() { # FILE PROGRAM
  exec 6<>fifo
  "$TIDEMARK" run "$2" >said 2>err 6>&- &
  child=$!
  cat "$1" >&6 &
  opens_it() { has_open $child '/fifo$' || is_over $child; }
  wait_until opens_it
  exec 6>&-
  wait $child
}
run_fed in.raw fifo.tide
status=$?
if [ $status = 0 ] && cmp -s o/a.raw sevens; then pass fifo_with_writer; else fail fifo_with_writer "exit status $status: $(cat err)"; fi
wait
rm -rf o
run_fed copy.tide fifo
status=$?
if [ $status = 0 ]; then pass fifo_with_program; else fail fifo_with_program "exit status $status: $(cat err)"; fi
wait
timeout $limit "$TIDEMARK" run /dev/zero >said 2>err
ended endless_program 'too long for a program; at most 16777216 bytes are read' $?
timeout $limit "$TIDEMARK" mods check /dev/zero >said 2>err
ended endless_module 'too long for a module; at most 67108864 bytes are read' $?

# ---- a read that is stuck holds back no failure, and no end
cat >stuck.tide <<'E'
device c cpu
device disk file depth 1
queue q on c
queue f on disk
queue g on disk
timeline t
buffer b 4K
buffer e 256K
buffer sum 8
file in read "fifo"
file short read "in.raw"
f: read in, 0, b
g: read short, 0, e signal t = 1
q: hash e, sum wait t >= 1
g: read short, 200000, e
E
exec 8<>fifo # a writer that writes nothing
timeout $limit "$TIDEMARK" run stuck.tide >said 2>err
ended stuck_and_failed "^stuck.tide:15:1: operation failed: 'in.raw' is too short" $?
"$TIDEMARK" run stuck.tide --go-on >said 2>err &
child=$!
wait_until takes_signal $child 15 && wait_until has_open $child '/fifo$'
kill -TERM $child
wait $child
status=$?
if [ $status = 143 ]; then pass stuck_and_ended; else fail stuck_and_ended "exit status $status: $(cat err)"; fi
exec 8>&-

# ---- two outputs in one place
mkdir -p real/below
ln -s real link
two_outputs() { # NAME PATH PATH
  printf 'device disk file\nqueue f on disk\nbuffer b 8\nfile one write "%s"\nfile two write "%s"\nf: write one, 0, b\nf: write two, 0, b\n' "$2" "$3" >two.tide
  timeout $limit "$TIDEMARK" run two.tide >said 2>err
}
in_one() { # NAME PATH PATH
  two_outputs "$@"
  ended "$1" "^two.tide:5:6: file 'two': '$3' is the output of file 'one', too" $?
  if [ -z "$(find real -type f)" ]; then pass "$1"_unwritten; else fail "$1"_unwritten "$(find real)"; fi
}
in_one through_a_link real/x link/x
in_one through_a_link_up real/x link/below/../x
in_one in_a_new_folder real/new/x link/./new//other/../x
in_one in_a_new_folder_up "$work/real/x" real/new/../x
if two_outputs hidden .x x && [ -f x ] && [ -f .x ]; then pass hidden_is_another; else fail hidden_is_another "$(cat err)"; fi

# ---- a stderr that stalls
cat >busy.tide <<'E'
device c cpu workers 1
queue q[300] on c
timeline t
queue z on c
for i in 0..300 { q[i]: nop wait t >= 1 label "with a name that fills a pipe" }
for i in 0..3000 { z: spin 20000 }
z: nop signal t = 1
E
mkfifo stalled
exec 9<>stalled
head -c 65536 /dev/zero >&9 # a pipe takes no more
"$TIDEMARK" run busy.tide 2>&9 >said &
child=$!
wait_until takes_signal $child 3
kill -QUIT $child # has something to say, and cannot
if grep -q . /proc/self/syscall 2>/dev/null; then wait_until is_writing_errors $child; fi
kill -QUIT $child
kill -TERM $child
wait_until is_over $child
kill -KILL $child 2>/dev/null
wait $child
status=$?
exec 9>&-
if [ $status = 143 ]; then pass stalled_stderr; else fail stalled_stderr "exit status $status"; fi
