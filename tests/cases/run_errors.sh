# Bad input: a clear message with a place, exit status 1, and nothing half-written.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/run_errors
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
# A sanitizer would end the program where malloc says no.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:allocator_may_return_null=1"
export TSAN_OPTIONS="${TSAN_OPTIONS-}:allocator_may_return_null=1"

head='device c cpu
device d file
queue q on c
queue r on c
queue f on d
timeline t, u
buffer b 64K
buffer e 8
'
# refused NAME PATTERN [ARGUMENTS]: the program on stdin, below the head of 8 lines, is refused with
# exit status 1 and a message that matches, and leaves no file behind.
refused() {
  name=$1 pattern=$2
  shift 2
  { printf '%s' "$head" && cat; } >"$name.tide"
  before=$(find . | sort)
  timeout 60 "$TIDEMARK" run "$name.tide" "$@" >out 2>err
  status=$?
  rm -f out
  said=$(cat err)
  rm -f err
  after=$(find . | sort)
  if [ $status != 1 ]; then
    echo "FAIL $name: exit status $status: $said"
  elif ! printf '%s\n' "$said" | grep -Eq "$pattern"; then
    echo "FAIL $name: it said: $said"
  elif [ "$before" != "$after" ]; then
    echo "FAIL $name: it left $(printf '%s\n%s\n' "$before" "$after" | sort | uniq -u | tr '\n' ' ')"
  else
    echo "PASS $name"
  fi
}

# refused_by_all NAME: the commands that only simulate refuse NAME.tide in the same words.
refused_by_all() {
  "$TIDEMARK" run "$1.tide" >out 2>want
  for command in explain sim; do
    if "$TIDEMARK" $command "$1.tide" >out 2>err; then echo "FAIL $1_$command: exit status 0"
    elif cmp -s want err; then echo "PASS $1_$command"
    else echo "FAIL $1_$command: it said: $(cat err)"; fi
  done
  rm -f out want err
}

refused unknown_queue "^unknown_queue.tide:9:1: unknown queue 'x'" <<'E'
x: fill b
E
refused value_goes_down "^value_goes_down.tide:10:1: timeline 't' goes down" <<'E'
q: fill b signal t = 2
q: fill b signal t = 1
E
refused cyclic "^cyclic.tide:9:1: the program is cyclic" <<'E'
q: fill b wait t >= 1 signal u = 1
r: hash b, e wait u >= 1 signal t = 1
E
refused nobody_signals "^nobody_signals.tide:9:1: timeline 't' never reaches 1" <<'E'
q: fill b wait t >= 1
E
refused not_ordered "^not_ordered.tide:10:1: .*not ordered|unordered" <<'E'
q: fill b signal t = 1
r: hash b, e signal t = 2
E
refused missing_file "^missing_file.tide:9:6: file 'in': cannot read 'nothere.raw': No such file" <<'E'
file in read "nothere.raw"
f: read in, 0, b
E
refused folder_as_file "^folder_as_file.tide:9:6: file 'in': cannot read '/': it is a folder; a file is expected" <<'E'
file in read "/"
f: read in, 0, b
E
mkfifo pipe
refused pipe_as_output "^pipe_as_output.tide:9:6: file 'out': 'pipe' is no regular file" <<'E'
file out write "pipe"
f: write out, 0, b
E
refused folder_as_output "^folder_as_output.tide:9:6: file 'out': '/tmp' is a folder" <<'E'
file out write "/tmp"
f: write out, 0, b
E
head -c 1000 /dev/zero >short.raw
refused truncated_image "^truncated_image.tide:11:1: .*'short.raw' is too short: it has 1000 bytes" <<'E'
file in read "short.raw"
file out write "sub/copy.raw"
f: read in, 0, b signal t = 1
f: write out, 0, b wait t >= 1
E
refused absurd_size "^absurd_size.tide:9:8: " <<'E'
buffer huge 9223372036854775807
q: fill huge
E
refused overflow "^overflow.tide:9:[0-9]*: " <<'E'
buffer huge[1048576] 100000000000000
q: fill huge[0]
E
refused number_overflow "^number_overflow.tide:9:[0-9]*: " <<'E'
let n = 9223372036854775807*2
q: spin n
E
refused no_memory "^no_memory.tide:9:8: buffer 'huge' of [0-9]* bytes: out of memory" <<'E'
buffer huge 4000T
q: fill huge
E
for offset in -1 9223372036854775807; do
  refused "offset_$offset" "^offset_$offset.tide:10:1: .*offset $offset is outside of any file" <<E
file out write "g.raw"
f: write out, $offset, b
E
done
refused body_fails "^body_fails.tide:9:1: operation failed: a body failed" <<'E'
q: fail signal t = 1
r: fill b wait t >= 1
E
refused failure_keeps_no_output "^failure_keeps_no_output.tide:11:1: operation failed" <<'E'
file out write "sub/copy.raw"
f: write out, 0, b signal t = 1
q: fail wait t >= 1
E
refused unknown_body "^unknown_body.tide:9:4: unknown body 'fil'" <<'E'
q: fil b
E
refused device_kind "^device_kind.tide:9:10: there is no device kind 'gpu'; expected one of: cpu, file" <<'E'
device z gpu
q: fill b
E
refused device_option "^device_option.tide:9:14: .*has no option 'wrokers'; expected workers" <<'E'
device z cpu wrokers 3
q: fill b
E
refused device_option_value "^device_option_value.tide:9:14: .*'workers' is 3000; expected 1 to 256" <<'E'
device z cpu workers 3000
q: fill b
E
refused device_cannot "^device_cannot.tide:9:1: device 'd' cannot do 'fill'" <<'E'
f: fill b
E
refused_by_all device_cannot
refused device_cannot_take "^device_cannot_take.tide:10:1: queue 'f' cannot take: its device works out of order" <<'E'
q: fill b signal t = 1
f: hash b, e take b
E
refused_by_all device_cannot_take
refused unknown_parameter "unknown parameter 'x'" --set x=1 <<'E'
q: fill b
E
refused memory_limit "^memory_limit.tide:7:8: buffer .b. of 65536 bytes: out of memory: the limit .--memory. is 4096 bytes, and the buffer alone" --memory 4K <<'E'
q: fill b
E
refused full_for_ever "^full_for_ever.tide:11:1: queue 'small' is full" <<'E'
queue small on c capacity 1
small: fill b wait t >= 1
small: hash b, e
q: spin 1 signal t = 1
E
refused_by_all full_for_ever

: >empty.tide
if "$TIDEMARK" run empty.tide 2>err; then echo "FAIL zero_bytes: exit status 0"
elif grep -q '^empty.tide:1:1: ' err; then echo "PASS zero_bytes"
else echo "FAIL zero_bytes: $(cat err)"; fi

truncate -s 1G big.tide
start=$(date +%s)
"$TIDEMARK" run big.tide 2>err
status=$?
took=$(($(date +%s) - start))
rm big.tide
if [ $status = 1 ] && grep -q '1073741824 bytes are too long' err && [ $took -le 5 ]; then
  echo "PASS one_gigabyte"
else echo "FAIL one_gigabyte: status $status after $took s: $(cat err)"; fi

"$TIDEMARK" run /tmp 2>err
if [ $? = 1 ] && grep -q 'it is a folder' err; then echo "PASS folder"; else echo "FAIL folder: $(cat err)"; fi

# A small disk.
writer="$head"'buffer large 4M
file out write "disk/large.raw"
q: iota large signal t = 1
f: write out, 0, large wait t >= 1
'
printf '%s' "$writer" >disk_full.tide
mkdir disk
if mount -t tmpfs -o size=1m tmpfs disk 2>/dev/null; then
  timeout 60 "$TIDEMARK" run disk_full.tide 2>err
  status=$?
  left=$(ls -A disk)
  umount disk
  if [ $status = 1 ] && grep -q "^disk_full.tide:12:1: .*No space left on device" err && [ -z "$left" ]; then
    echo "PASS disk_full"
  else echo "FAIL disk_full: status $status, left '$left': $(cat err)"; fi
else
  echo "SKIP disk_full: a small file system cannot be mounted here (not root)"
fi

# No permission, as somebody who is not root.
chmod 755 disk
printf '%s' "$writer" >denied.tide
as_other='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" != 0 ]; then as_other=; chmod 555 disk; fi
# shellcheck disable=SC2086
if $as_other sh -c '[ -x "$0" ]' "$TIDEMARK" 2>/dev/null; then
  $as_other "$TIDEMARK" run denied.tide 2>err
  status=$?
  if [ $status = 1 ] && grep -q "^denied.tide:10:6: .*cannot write 'disk/large.raw': Permission denied" err &&
    [ -z "$(ls -A disk)" ]; then
    echo "PASS permission_denied"
  else echo "FAIL permission_denied: status $status: $(cat err)"; fi
else
  echo "SKIP permission_denied: the tool cannot be run as somebody else here"
fi

# Wrong usage has a status of its own.
usage() { # name, pattern, arguments…
  name=$1 pattern=$2
  shift 2
  "$TIDEMARK" "$@" >out 2>err
  status=$?
  if [ $status = 2 ] && grep -q -e "$pattern" err && [ ! -s out ]; then echo "PASS usage_$name"
  else echo "FAIL usage_$name: status $status: $(cat err)"; fi
}
usage none 'usage: tidemark COMMAND'
usage command "there is no command 'bogus'; expected one of: run, " bogus
usage no_file 'which program' run
usage option 'there is no option --bogus' run --bogus x.tide
usage value '--repeat needs a value' run x.tide --repeat
usage bad_value '--repeat 0: expected' run --repeat 0 x.tide
usage two_files "one program, not 'y.tide', too" run x.tide y.tide
usage flag_with_value '--check takes no value' run --check=1 x.tide
usage setting 'expected NAME=VALUE' run --set x x.tide
usage baseline 'expected events or barrier' run --baseline nothing x.tide
usage generate 'expected WIDTHxHEIGHT' generate image --size 0x1 out.raw
for command in run explain fmt generate; do
  if "$TIDEMARK" $command --help | grep -q "^usage: tidemark $command "; then echo "PASS help_$command"
  else echo "FAIL help_$command"; fi
done
