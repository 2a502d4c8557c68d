# A shell that closes what a program expects to be open, outputs in odd places, folders that come and go:
# nothing that was there is destroyed, nothing half-written is left.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
work=$BUILD/run_hostile
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; }
# failed NAME PATTERN STATUS: what just ran failed so, and said so on stderr (in err).
failed() {
  if [ "$3" = "${4-1}" ] && grep -Eq -e "$2" err; then pass "$1"; else fail "$1" "exit status $3: $(cat err)"; fi
}
cat >slow.tide <<'E'
param turns = 40
param out = "o/a.raw"
device c cpu
device d file
queue q on c
queue f on d
timeline t
buffer b 64K
file one write "{out}"
file two write "{out}.2"
for i in 0..turns { q: spin 20000 }
q: fill b, 7 signal t = 1
f: write one, 0, b wait t >= 1
f: write two, 0, b wait t >= 1
E

# The same behind a gate: it goes on when 8 bytes come, and not before.
sed 's/^queue f on d$/&\ndevice g file\nqueue gate on g\ntimeline open\nbuffer key 8\nfile in read "gate"/
  s/^for i in 0..turns .*/gate: read in, 0, key signal open = 1/; s/^q: fill b, 7/& wait open >= 1/' slow.tide >gated.tide
mkfifo gate
exec 7<>gate
open_gate() { printf 12345678 >&7; }
has_outputs() { [ "$(ls -l "/proc/$1/fd" | grep -c -e '#[0-9]* (deleted)$' -e '/\.a\.raw\.')" = 2 ]; } # PID: open, without their names

# ---- closed: the files that the program opens must not get the numbers 0, 1 and 2
head -c 65536 /dev/zero | tr '\0' '\7' >sevens
sed 's/^f: .*/f: write one, 0, b/; /write one, 0/{n;s/.*/f: write two, 0, b/}' gated.tide >early.tide # writes before the message comes
"$TIDEMARK" run early.tide 2>&- >/dev/null &
child=$!
wait_until takes_signal $child 3 && wait_until has_outputs $child
kill -QUIT $child # has something to say
open_gate
wait $child
status=$?
if [ $status = 0 ] && ! grep -aq operation o/a.raw o/a.raw.2; then pass stderr_closed; else fail stderr_closed "exit status $status"; fi
rm -rf o
"$TIDEMARK" run slow.tide --set turns=0 2>err >&-
failed stdout_closed 'output could not be written' $?
if cmp -s o/a.raw sevens; then pass stdout_closed_output; else fail stdout_closed_output "it is not what it should be"; fi
"$TIDEMARK" explain slow.tide 2>err >/dev/full
failed stdout_full 'output could not be written' $?
rm -rf o

# ---- the places of outputs
mkdir o
"$TIDEMARK" run gated.tide >said 2>err &
child=$!
wait_until has_outputs $child
mkdir o/a.raw.2
open_gate
wait $child
failed folder_in_the_way "^gated.tide:15:6: file 'two': cannot write 'o/a.raw.2': Is a directory" $?
if [ "$(find o)" = "$(printf 'o\no/a.raw.2')" ]; then pass all_or_none; else fail all_or_none "$(find o)"; fi
rm -rf o
mkdir o
"$TIDEMARK" run gated.tide >said 2>err &
child=$!
wait_until has_outputs $child
rm -rf o
open_gate
wait $child
status=$?
if [ $status = 0 ] && cmp -s o/a.raw sevens; then pass folder_vanished; else fail folder_vanished "exit status $status: $(cat err)"; fi
rm -rf o
for other in o/./a.raw ./o/a.raw o//a.raw ././/o/a.raw; do
  sed "s|{out}.2|$other|" slow.tide >same.tide
  "$TIDEMARK" run same.tide --set turns=0 >said 2>err
  failed "same_$(printf '%s' "$other" | tr -c 'a-z\n' _)" "same.tide:10:6: file 'two': .* is the output of file 'one', too" $?
done
"$TIDEMARK" run slow.tide --set turns=0 --output '' >said 2>err
failed output_empty 'expected a folder' $? 2
cp slow.tide own.tide
"$TIDEMARK" run own.tide --set turns=0 --set out=own.tide >said 2>err
failed output_over_program "^own.tide:9:6: file 'one': the program itself is there" $?
if cmp -s slow.tide own.tide && [ ! -e own.tide.2 ]; then pass program_is_spared; else fail program_is_spared "it is gone"; fi

# ---- two at once write the same outputs
for i in 1 2 3; do
  "$TIDEMARK" run slow.tide --set turns=5 --check >/dev/null 2>err.$i &
  eval "run$i=$!"
done
good=yes
for child in $run1 $run2 $run3; do wait "$child" || good=no; done
if [ $good = yes ] && cmp -s o/a.raw sevens && cmp -s o/a.raw.2 sevens && [ "$(find o -type f | wc -l)" = 2 ]; then pass at_once
else fail at_once "$(find o) $(cat err.*)"; fi
rm -rf o

# ---- what is renamed into its place takes the place of files only
mkfifo pipe
"$TIDEMARK" run slow.tide --set turns=0 --trace pipe >said 2>err
failed trace_to_pipe "cannot write 'pipe': it is no regular file" $?
"$TIDEMARK" generate image pipe --size 9x9 2>err
failed image_to_pipe "cannot write 'pipe': it is no regular file" $?
(ulimit -f 1 && "$TIDEMARK" generate image full.raw --size 300x300 2>err)
failed image_no_space "cannot write 'full.raw': File too large" $?
if [ -p pipe ]; then pass pipe_is_spared; else fail pipe_is_spared "it is a file now"; fi
"$TIDEMARK" run own.tide --set turns=0 --trace ./own.tide >said 2>err
failed trace_over_program 'trace ./own.tide: the program is in this file, or uses it' $?
if cmp -s slow.tide own.tide; then pass program_is_spared_by_trace; else fail program_is_spared_by_trace "it is gone"; fi
mkdir -p o
"$TIDEMARK" run slow.tide --set turns=0 --trace o/a.raw >said 2>err
failed trace_over_output 'trace o/a.raw: the program is in this file, or uses it' $?
rm -rf o
"$TIDEMARK" run slow.tide --set turns=0 --trace new/folder/t.json >said 2>err
failed trace_makes_no_folder "cannot write 'new/folder/t.json': its folder 'new/folder': No such file or directory" $?
if [ -e new ]; then fail trace_left_no_folder "$(find new)"; else pass trace_left_no_folder; fi
printf 'device   c cpu\nqueue q on c\nq:   spin 1\n' >ugly.tide
ln -s ugly.tide link.tide
"$TIDEMARK" fmt --write link.tide 2>err
if [ $? = 0 ] && [ -L link.tide ] && "$TIDEMARK" fmt --check ugly.tide 2>err; then pass fmt_through_link; else fail fmt_through_link "$(ls -l)"; fi

# ---- the user hangs up
"$TIDEMARK" generate image large.raw --size 60000x60000 2>err &
child=$!
begins_an_image() { exists large.raw*; }
wait_until begins_an_image
kill -HUP $child
wait $child
status=$?
if [ $status = 129 ] && [ -z "$(find . -name 'large.raw*')" ]; then pass hangup; else fail hangup "exit status $status: $(ls)"; fi
rm -f large.raw*

# ---- many
cat >queues.tide <<'E'
device c cpu workers 2
queue q[20000] on c
for i in 0..20000 { q[i]: nop }
E
if "$TIDEMARK" run queues.tide >said 2>err; then pass many_queues; else fail many_queues "$(cat err)"; fi
printf 'device c cpu\nqueue q[100000] on c\nq[7]: nop\n' >idle.tide # a clock for each would need 40 GB
if [ "${TEST_KIND-plain}" != plain ]; then echo "SKIP idle_queues: a sanitizer takes more memory than this allows"
elif (ulimit -v 8000000 && "$TIDEMARK" run idle.tide) >said 2>err; then pass idle_queues; else fail idle_queues "$(cat err)"; fi
cat >instances.tide <<'E'
device c cpu workers 2
queue q[3] on c
collective all over q
buffer part[3] 4K
buffer digest 8
for i in 0..3 { q[i]: iota part[i], i }
for n in 0..3000 { all: allreduce member, members, part[0], part[1], part[2] }
q[0]: hash part[0], digest  wait all >= 3000
E
if "$TIDEMARK" run instances.tide --paused --check >said 2>err; then pass instances_paused; else fail instances_paused "$(cat err)"; fi
"$TIDEMARK" run instances.tide >said 2>err
if grep -q '^ *paused ' said; then pass instances_counted; else fail instances_counted "$(cat said)"; fi
