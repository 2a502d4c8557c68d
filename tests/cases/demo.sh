# tidemark demo compositor: processes that share a service, one of them hostile, some of them killed.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
work=$BUILD/demo
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
TMPDIR=$work
export TMPDIR
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2: $(tr '\n' '|' <said)"; }
# demo STATUS OPTIONS…: what it says is in `said`; is that its exit status?
demo() {
  want=$1
  shift
  timeout -k 5 400 "$TIDEMARK" demo compositor --limit 300 --size 128x96 --frames 12 --out frames "$@" >said 2>&1
  status=$?
  [ $status = "$want" ]
}
hash() { sed -n 's/^what the honest drew: //p' said; }
some=$([ "${TEST_KIND-plain}" = plain ] && echo 5 || echo 2)

# ---- the same with the hostile renderer and without it, and as one process draws it
good=yes
for i in $(seq "$some"); do
  demo 0 --check && grep -q '^all 12 frames are the same without the hostile one' said || good=no
  [ $good = yes ] || break
done
if [ $good = yes ]; then pass check; else fail check "run $i, exit status $status"; fi
if grep -q 'its promises: 2 kept, 1 invalid, 1 deadlock, 1 failed, 2 owner died, 1 timed out; 2 guessed tokens' said; then pass hostile_promises
else fail hostile_promises "they did not end as they should"; fi
demo 0 --hostile no
one=$(hash)
good=yes
for i in $(seq "$some"); do
  for hostile in yes no; do
    demo 0 --hostile $hostile && [ -n "$one" ] && [ "$(hash)" = "$one" ] || good=no
    [ $good = yes ] || break 2
  done
done
if [ $good = yes ]; then pass same_hash; else fail same_hash "run $i, hostile $hostile, not $one"; fi
if [ "$(find frames -maxdepth 1 -name 'frame-*.png' | wc -l)" = 12 ]; then pass files; else fail files "$(ls frames)"; fi
# A sanitizer's processes are slow, and no promise may take more than ten seconds.
many=$((300 / ${TEST_SLOWDOWN-1}))
if demo 0 --frames 1 --size 64x64 --check && demo 0 --frames $many --size 64x64 --check; then pass few_and_many
else fail few_and_many "exit status $status"; fi

# ---- a renderer is killed at whatever instant: the others go on, and all frames are there
seed=${SEED-$(date +%N | sed 's/^0*//')}
instant() { # a number each time; small ones are likelier
  seed=$(((${seed:-1} * 1103515245 + 12345) % 2147483648))
  awk -v s=$seed 'BEGIN { srand(s); printf "%.2f", rand() * rand() * 100 }'
}
for who in photo video page advert hostile; do
  good=yes
  for i in $(seq "$some"); do
    rm -rf frames
    at=$(instant)
    demo 0 --kill "$who@$at" || good=no
    [ "$(find frames -maxdepth 1 -name 'frame-*.png' | wc -l)" = 12 ] || good=no
    [ $good = yes ] || break
  done
  if [ $good = yes ]; then pass "kill_$who"; else fail "kill_$who" "at $at ms, exit status $status"; fi
done
# ---- without these it cannot go on, and says so at once
for who in browser service; do
  good=yes
  for i in $(seq "$some"); do
    at=$(instant)
    demo 1 --frames 9999 --kill "$who@$at" && ! grep -q hung said && grep -q "$who .*killed by signal 9" said || good=no
    [ $good = yes ] || break
  done
  if [ $good = yes ]; then pass "kill_$who"; else fail "kill_$who" "at $at ms, exit status $status"; fi
done
if demo 1 --frames 9999 --limit 1 && grep -q 'it hung: after 1 s' said; then pass watchdog; else fail watchdog "exit status $status"; fi

# ---- as a program of its own; with a service that is there already
if "$BUILD/example-compositor" --size 128x96 --frames 12 --out frames >said 2>&1 && [ "$(hash)" = "$one" ]; then pass alone
else fail alone "exit status $?"; fi
"$TIDEMARK" serve --socket "$work/socket" >served 2>&1 &
server=$!
wait_until shows served 'serves at'
if demo 0 --check --socket "$work/socket" && demo 0 --kill photo@20 --socket "$work/socket" &&
  demo 0 --socket "$work/socket" && [ "$(hash)" = "$one" ]; then pass served
else fail served "exit status $status"; fi
kill -TERM $server
if wait $server; then pass service_ends; else fail service_ends "$(cat served)"; fi
if demo 1 --socket "$work/nobody" && grep -q 'browser .*nobody' said; then pass no_service; else fail no_service "exit status $status"; fi

# ---- numbers for programs; wrong usage
if demo 0 --json && python3 -c '
import json
said = json.load(open("said"))
who = said["processes"]
assert said["good"] and said["frames"] == 12 and who["hostile"]["signal"] == 9
assert all(who[name]["shown"] == 12 and not who[name]["missing"] for name in ("photo", "video", "page", "advert"))
assert who["video"]["lowered"] == 12 and who["photo"]["waits"] == 10
'; then pass json; else fail json "exit status $status"; fi
good=yes
for wrong in --size=7x7 --frames=0 --hostile=maybe --kill=nobody@1 --kill=photo --nothing --out=; do
  demo 2 $wrong && grep -q '^tidemark demo compositor: .*; see ' said || { good=no; break; }
done
if [ $good = yes ]; then pass wrong_usage; else fail wrong_usage "$wrong, exit status $status"; fi
if demo 1 --out /dev/null/x && grep -q 'Not a directory' said; then pass nowhere_to_write; else fail nowhere_to_write "exit status $status"; fi
: >said
if [ -z "$(find . -name 'tidemark-demo-*')" ]; then pass nothing_is_left; else fail nothing_is_left "$(ls)"; fi
