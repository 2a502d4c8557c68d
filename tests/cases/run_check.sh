# tidemark run --check: the true conflict, told once by statement and iteration, and an advice that suffices: each
# advice is obeyed as it stands, and then there is no finding.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/run_check
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
# The races are meant: ThreadSanitizer, which finds them too, is not to end the runs.
export TSAN_OPTIONS="${TSAN_OPTIONS-} report_bugs=0"

head='device c cpu workers 2
device d file
queue q, r, lane[2] on c
queue f on d
timeline t, u, done[2]
buffer b 64K
buffer e 8
buffer sums 8*64
buffer tile[4], copy[4] 1K
scratch s, x[8] 4K
'
# obey FILE LINE:COLUMN…: does to FILE what the findings in `err` advise.
obey() {
  sed -n 's/^.*: add to \(the wait of \)\{0,1\}line \([0-9]*\): \(.*\)$/\2 \1|\3/p' err |
    while read -r line rest; do
      how=${rest%%|*} clause=${rest#*|}
      if [ -n "$how" ]; then sed -i "${line}s/wait /wait $(quoted "$clause"), /" "$1"
      else sed -i "${line}s/\$/  $(quoted "$clause")/" "$1"; fi
    done
}
quoted() { printf '%s' "$1" | sed 's/[\/&]/\\&/g'; }
run() { timeout 120 "$TIDEMARK" run "$@" --check --quiet-time >said 2>err; }

# finds NAME PATTERN…: the program on stdin has as many findings as there are patterns, each matches one in turn.
finds() {
  name=$1
  shift
  { printf '%s' "$head" && cat; } >"$name.tide"
  run "$name.tide"
  status=$?
  grep -E '^[^:]*\.tide:.*(nothing orders them|nothing has written)' err >findings
  why=
  [ $status = 1 ] || why="exit status $status"
  [ "$(wc -l <findings)" = $# ] || why="$(wc -l <findings) findings, not $#"
  number=0
  for pattern; do
    number=$((number + 1))
    sed -n ${number}p findings | grep -Eq -e "$pattern" || why="no '$pattern' in finding $number"
  done
  if [ -n "$why" ]; then echo "FAIL $name: $why: $(cat err)"; else echo "PASS $name"; fi
}
# The same, and obeying all advice once leaves no finding.
suffices() {
  finds "$@"
  obey "$1.tide"
  if run "$1.tide"; then echo "PASS $1_obeyed"; else echo "FAIL $1_obeyed: $(cat err "$1.tide")"; fi
}
silent() {
  { printf '%s' "$head" && cat; } >"$1.tide"
  if run "$1.tide"; then echo "PASS $1"; else echo "FAIL $1: $(cat err)"; fi
}

# ---- missing waits
suffices read_before_write "^read_before_write.tide:12:1: operation 'hash' of queue 'r' reads buffer 'b', which operation 'fill' of 11:1 of queue 'q' writes, and nothing orders them: add to line 12: wait t >= 1\$" <<'P'
q: fill b, 1 signal t = 1
r: hash b, e signal u = 1
P
suffices in_each_iteration "^in_each_iteration.tide:15:3: operation 'copy' \(i = 0\) .* reads buffer 'tile\[0\]', which operation 'iota' of 14:3 \(i = 0\) of queue 'q' writes, .* \(32 times in this run\): add to line 15: wait t >= i \+ 1\$" <<'P'
for i in 0..32 {
  let slot = i % 4
  let l = i % 2
  q: iota tile[slot], i wait done[l] >= max(0, i/2 - 1) signal t = i + 1
  lane[l]: copy tile[slot], copy[slot]
  lane[l]: hash copy[slot], sums[8*i, 8] signal done[l] = i/2 + 1
}
P
# The writer of the next round overtakes the readers, of which the first wait would name only the writer before.
suffices next_round "^next_round.tide:14:3: operation 'iota' \(i = 4\) .* writes buffer 'tile\[0\]', which operation 'copy' of 15:3 \(i = 0\) of queue 'lane\[0\]' reads, .*: add to line 14: wait done\[l\] >= max\(0, i/2 - 1\)\$" <<'P'
for i in 0..32 {
  let slot = i % 4
  let l = i % 2
  q: iota tile[slot], i signal t = i + 1
  lane[l]: copy tile[slot], copy[slot] wait t >= i + 1
  lane[l]: hash copy[slot], sums[8*i, 8] signal done[l] = i/2 + 1
}
P
suffices last_of_all "^last_of_all.tide:14:1: .* which operation 'hash' of 12:3 \(i = 15\) of queue 'lane\[1\]' writes, .*: add to the wait of line 14: done\[1\] >= 8\$" <<'P'
for i in 0..16 {
  lane[i%2]: hash b, sums[8*i, 8] signal done[i%2] = i/2 + 1
}
r: hash sums, e wait done[0] >= 8
P
suffices two_lanes "add to line 14: wait done\[[01]\] >= 8, done\[[01]\] >= 8\$" <<'P'
for i in 0..16 {
  lane[i%2]: hash b, sums[8*i, 8] signal done[i%2] = i/2 + 1
}
r: hash sums, e
P
suffices nested "^nested.tide:14:5: operation 'copy' \(i = 0, j = 0\) .*\(i = 0, j = 0\).*: add to line 14: wait t >= i\*4 \+ j \+ 1\$" <<'P'
for i in 0..4 {
  for j in 0..4 {
    q: iota tile[j], i wait u >= max(0, i*4 + j - 3) signal t = i*4 + j + 1
    r: copy tile[j], copy[j] signal u = i*4 + j + 1
  }
}
P
# Two conflicts that have nothing to do with each other: both are told, in the order of the program.
suffices two_pairs "^two_pairs.tide:12:1: .*add to line 12: wait t >= 1\$" "^two_pairs.tide:14:1: .*add to line 14: wait u >= 1\$" <<'P'
q: fill b, 1 signal t = 1
r: hash b, e
lane[0]: iota tile[0] signal u = 1
lane[1]: copy tile[0], tile[1]
P
finds without_signal "no signal follows operation 'fill' in queue 'q' before that: add a signal to line 11, and a wait for it to line 12\$" <<'P'
q: fill b, 1
r: hash b, e signal u = 1
P
silent values_between <<'P'
q: fill b, 1
q: nop signal t = 24
q: nop signal t = 26
r: hash b, e wait t >= 25
P
silent one_buffer_twice <<'P'
q: fill b, 1
q: copy b[0, 1K], b[1K, 1K]
P

# ---- bytes that nothing wrote
finds unwritten "^unwritten.tide:13:1: operation 'write' of queue 'f' reads buffer 's', of which nothing has written the 4096 bytes from 0 on\$" <<'P'
file o write "o.bin"
q: alloc s
f: write o, 0, s
f: free s
P
finds reversed "^reversed.tide:13:3: operation 'copy' \(i = 0\) of queue 'q' reads buffer 'x\[0\]', .* \(8 times in this run\)\$" <<'P'
for i in 0..8 {
  q: alloc x[i]
  q: copy x[i], b[0, 4K]
  q: sort x[i]
  q: free x[i]
}
P
finds unwritten_part "^unwritten_part.tide:13:1: .* the 1024 bytes from 3072 on\$" <<'P'
q: alloc s
q: iota s[0, 3K]
q: hash s, e
q: free s
P
silent written_in_pieces <<'P'
q: alloc s
q: iota s[1K, 3K]
q: iota s[0, 1K]
q: hash s, e
q: free s
P
silent zero_at_the_start <<'P'
q: hash tile[0], e
P
