# examples/weights: the same job by hand and with Tidemark. Both write the same bytes and fail as README.md says,
# and README.md has their lines of code.
: "${BUILD:?}"
work=$BUILD/weights
rm -rf "$work"
mkdir -p "$work"

# Bytes of which no four are an infinite weight or no number.
finite() { head -c "$1" /dev/urandom | tr '\177\377' '\076\276'; }

result() { # name, why it failed or nothing
  if [ -z "$2" ]; then echo "PASS $1"; else echo "FAIL $1: $2"; fi
}

# No block, a part of one, a whole one, and more than there are slots.
for count in 0 1 16384 100003; do
  finite $((count * 4)) >"$work/in"
  why=
  for program in by_hand with_tidemark; do
    said=$("$BUILD/example-weights-$program" "$work/in" "$work/$program" 2>&1) || why="$program fails: $said"
    [ "$said" = "$count weights" ] || why="$program prints: $said"
  done
  [ "$(wc -c <"$work/by_hand")" = $((count * 2)) ] || why="not two bytes for each weight"
  cmp "$work/by_hand" "$work/with_tidemark" >"$work/said" 2>&1 || why=$(cat "$work/said")
  result "same_bytes_$count" "$why"
done

# 1, 1.00390625 (halfway to the next one), and a bit more than that.
printf '\0\0\200\077\0\200\200\077\001\200\200\077' >"$work/in"
"$BUILD/example-weights-by_hand" "$work/in" "$work/out" >"$work/said" 2>&1
result rounded "$(printf '\200\077\200\077\201\077' | cmp - "$work/out" 2>&1)"

fails() { # name, program, input, what it prints
  if said=$("$BUILD/example-weights-$2" "$3" "$work/out" 2>&1); then why="it succeeds"
  elif [ "$said" != "$4" ]; then why="it prints: $said"
  else why=; fi
  result "$1_$2" "$why"
}
# The last weight of the third block is no number.
{ finite $((3 * 65536 - 4)); printf '\0\0\300\177'; finite 400000; } >"$work/in"
domain='Numerical argument out of domain'
for program in by_hand with_tidemark; do fails missing_file $program "$work/none" 'weights: No such file or directory'; done
fails folder by_hand "$work" 'weights: Is a directory'
fails folder with_tidemark "$work" 'weights: queue load, block 0: Is a directory'
fails bad_weight by_hand "$work/in" "weights: $domain"
fails bad_weight with_tidemark "$work/in" "weights: queue check, block 2: $domain"

# Without the wait that the README leaves out; a library under a sanitizer takes no plain program.
finite 300000 >"$work/in"
if [ "${TEST_SLOWDOWN-1}" = 1 ]; then
  sed 's/, {done\[CONVERT\], n}//' examples/weights/with_tidemark.c >"$work/forgotten.c"
  why=
  if ! cc -Iinclude -Iexamples/weights "$work/forgotten.c" -o "$work/forgotten" -L"$BUILD" -ltidemark -Wl,-rpath,"$BUILD" \
    >"$work/said" 2>&1; then why=$(head -n 3 "$work/said" | tr '\n' '|')
  else
    for n in 1 2 3 4 5; do
      echo "weights: operation 'store' of queue 'store' reads buffer 'slot', which operation 'convert' of queue 'convert' writes, and nothing orders them: add a wait for 'convert' >= $n"
    done >"$work/wanted"
    CHECK=yes "$work/forgotten" "$work/in" "$work/out" >/dev/null 2>"$work/said"
    cmp "$work/wanted" "$work/said" >"$work/differs" 2>&1 || why="$(cat "$work/differs"): $(head -n 1 "$work/said")"
  fi
  result forgotten_wait "$why"
else echo "SKIP forgotten_wait: the library is one under a sanitizer"; fi
said=$(CHECK=yes "$BUILD/example-weights-with_tidemark" "$work/in" "$work/out" 2>&1)
result nothing_forgotten "$(echo "$said" | grep -v '^[0-9]* weights$')"

# Lines that are neither empty nor a comment.
lines() { grep -vcE '^ *($|/?\*)' "examples/weights/$1.c"; }
# README.md quotes both.
quoted() { # name, column of the table
  awk -F ' [|] ' -v column="$2" '/^[|] a (store|load) begins after / && $column ~ /`/ { sub(/^[^`]*`/, "", $column); sub(/`.*/, "", $column); print $column }' README.md >"$work/quoted"
  why=
  [ -s "$work/quoted" ] || why="README.md quotes nothing"
  while read -r code; do grep -qF -e "$code" "examples/weights/$1.c" || why="README.md quotes '$code'"; done <"$work/quoted"
  result "quoted_$1" "$why"
}
quoted by_hand 2
quoted with_tidemark 3
row="| lines of code | $(lines by_hand) | $(lines with_tidemark) |"
result lines_of_code "$(grep -qxF "$row" README.md || echo "README.md has no line '$row'")"
rm -rf "$work"
