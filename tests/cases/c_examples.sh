# The C examples print what they promise.
expect() { # name, what it prints
  printed=$("$BUILD/example-$1" 2>&1)
  status=$?
  if [ $status = 0 ] && [ "$printed" = "$2" ]; then
    echo "PASS $1"
  else
    printf '%s\n' "$printed"
    echo "FAIL $1: exit status $status, or it did not print: $2"
  fi
}

expect hello 'hello,
world'
expect two_queues 'the squares of 1 to 10 add up to 385'
expect wait_any 'lane 1 was first
all 3 are done
a second value of lane 0: the deadline passed first'
expect buffer_reuse 'b      fresh
a      known to be free
b      known to be free
a      known to be free'
expect epoll_loop 'frame 1: TIDE_OK
frame 2: TIDE_OK
frame 3: TIDE_OK'
expect external_signal 'frame 1 arrived
frame 2 arrived
frame 3 arrived'
expect own_backend '  hello
  from
2 ran
  behind the gate
1 ran; work was announced 2 times'
expect own_backend_ahead '6 are out, none has started
  stage 1
  stage 2
  stage 3
  stage 4
  stage 5
  stage 6'
expect points 'both swap: success
the buffer is free: success
the next one: a promise was not queued in time'
expect frames '40 frames shown, the client woke once
40 frames shown, the others were taken back'
expect upload 'draw a placeholder
copy
swizzle
draw the texture'
expect priorities 'ahead of the browser: 3
the browser will need it: 12, no more than its own
its frame is there: 3
and consumed: 8'
# shellcheck source=tests/vulkan/programs.sh
. tests/vulkan/programs.sh
if [ -n "${VK_ICD_FILENAMES-}" ] || VK_ICD_FILENAMES=$(lavapipe_icd); then
  export VK_ICD_FILENAMES
  [ "${TEST_SLOWDOWN-1}" = 1 ] && expect vulkan-adopt 'frame 1
frame 2
frame 3'
  [ "${TEST_SLOWDOWN-1}" = 1 ] || echo "SKIP vulkan-adopt: a Vulkan driver under a sanitizer"
else echo "SKIP vulkan-adopt: $VK_ICD_FILENAMES"; fi

# A file that is no whole number of pieces, and more of them than there are buffers.
folder=$(mktemp -d) && head -c 1000001 /dev/urandom >"$folder/from"
if "$BUILD/example-copy_file" "$folder/from" "$folder/to" >"$folder/printed" && cmp "$folder/from" "$folder/to" &&
  grep -q ': 1000001 bytes by ' "$folder/printed"; then
  echo "PASS copy_file"
else
  cat "$folder/printed"
  echo "FAIL copy_file: it failed, or the copy differs"
fi
if "$BUILD/example-copy_file" "$folder/from" /dev/full 2>&1; then
  echo "FAIL copy_file_to_a_full_device: it did not fail"
else
  echo "PASS copy_file_to_a_full_device"
fi
rm -r "$folder"

# Two processes that meet in a folder.
folder=$(mktemp -d)
cd "$folder" || exit 1
"$BUILD/example-processes" 0 >other 2>&1 &
printed=$("$BUILD/example-processes" 1 2>&1)
if wait $! && [ "$printed" = "the sum of 32768 words is 301916160" ] && [ ! -s other ] && [ ! -e session ]; then
  echo "PASS processes"
else
  echo "FAIL processes: it printed: $printed; the other one: $(cat other)"
fi
cd "$OLDPWD" || exit 1
rm -r "$folder"

# Short enough to be read at once.
long=$(wc -l examples/*.c examples/vulkan/adopt.c examples/vulkan/kept.c | awk '
  $2 != "total" && $1 >= ($2 ~ /processes/ ? 80 : 60) {print $2}')
if [ -z "$long" ]; then echo "PASS short"; else echo "FAIL short: $long"; fi

# The first example after hello is a small one, and none destroys what its context destroys.
used=$(grep -o 'tide_[a-z_]*(' examples/two_queues.c | sort -u | wc -l)
if [ "$used" -le 10 ]; then echo "PASS two_queues_uses_few"; else echo "FAIL two_queues_uses_few: $used functions"; fi
destroyed=$(grep -no 'tide_[a-z]*_\(destroy\|close\)(' examples/*.c examples/vulkan/adopt.c examples/vulkan/kept.c | grep -v tide_context_destroy)
if [ -z "$destroyed" ]; then echo "PASS context_destroys"; else echo "FAIL context_destroys: $destroyed"; fi
