# tests/mods/mlir/*.mlir, in parts between lines of `// -----`. A part's first line says what is right:
#   // accepted            mlir-opt takes it, and so do we; mlir-opt finds the same in what we print
#   // refused: TEXT       mlir-opt refuses it, and so do we, with TEXT
#   // outside: TEXT       mlir-opt takes it; we refuse it with TEXT, which says that it is no part of the subset
#   // not lowered: TEXT   it is accepted; `mods lower --emit=nvvm` fails with TEXT
# Options for both tools may stand before the colon. Without mlir-opt 19 only our own half is tried.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/mods_mlir
rm -rf "$work"
mkdir -p "$work"
. scripts/need
oracle=
need_is_there mlir-19-tools && oracle=$(command -v mlir-opt-19 || echo /usr/lib/llvm-19/bin/mlir-opt)
[ -n "$oracle" ] && [ -x "$oracle" ] || oracle=
[ -n "$oracle" ] || echo "SKIP against_mlir: mlir-19-tools is not installed"

verdict() { if [ "$1" = 0 ]; then echo accepted; else echo refused; fi; }

# wrong WANTED GOT [FILE]
wrong() {
  echo "FAIL $name: $place: wanted $1, got $2"
  [ -z "${3-}" ] || head -5 "$3" | sed 's/^/  /'
}

# same FORM: mlir-opt finds in what we print what it finds in the part itself.
same() {
  # shellcheck disable=SC2086
  "$TIDEMARK" mods opt $1 $options "$part" >"$part.ours" 2>"$part.err" || { wrong "opt $1 to print it" "an error" "$part.err"; return 1; }
  # shellcheck disable=SC2086
  "$TIDEMARK" mods opt $1 $options "$part.ours" >"$part.twice" 2>"$part.err" || { wrong "what opt $1 prints read again" "an error" "$part.err"; return 1; }
  cmp -s "$part.ours" "$part.twice" || { wrong "opt $1 to be a fixed point" "another text"; return 1; }
  [ -n "$oracle" ] || return 0
  # shellcheck disable=SC2086
  "$oracle" $options "$part" >"$part.want" 2>"$part.err" || { wrong "mlir-opt to take it" "a refusal" "$part.err"; return 1; }
  # shellcheck disable=SC2086
  "$oracle" $options "$part.ours" >"$part.got" 2>"$part.err" || { wrong "what opt $1 prints taken by mlir-opt" "a refusal" "$part.err"; return 1; }
  cmp -s "$part.want" "$part.got" && return 0
  diff "$part.want" "$part.got" >"$part.diff"
  wrong "the same, read back (opt $1)" "another" "$part.diff"
  return 1
}

# lowered: what lower gives is taken by mlir-opt, or lower says why it gives nothing.
lowered() {
  "$TIDEMARK" mods lower --emit=nvvm "$part" >"$part.nvvm" 2>"$part.lower"
  status=$?
  [ $status -gt 1 ] && { wrong "lower to end with 0 or 1" "$status" "$part.lower"; return 1; }
  [ $status = 0 ] || return 0
  [ -z "$oracle" ] || "$oracle" "$part.nvvm" >"$part.out" 2>"$part.err" || { wrong "lower's text taken by mlir-opt, or an error" "a text that it refuses" "$part.err"; return 1; }
}

try() {
  read -r line <"$part"
  what=${line#// }
  text=${what#*: }
  what=${what%%:*}
  options=
  case $what in *' '--*) options=--${what#* --} what=${what%% --*} ;; esac
  case $options in *print*) checked= ;; *) checked=$options ;; esac
  # shellcheck disable=SC2086
  "$TIDEMARK" mods check $checked "$part" >"$part.check" 2>&1
  got=$(verdict $?)
  mlir=
  # shellcheck disable=SC2086
  [ -z "$oracle" ] || { "$oracle" $options "$part" >/dev/null 2>&1; mlir=$(verdict $?); }
  case $what in
    accepted | 'not lowered') want=accepted says=accepted ;;
    refused) want=refused says=refused ;;
    outside) want=refused says=accepted ;;
    *) wrong "accepted, refused, outside or not lowered" "$what"; return ;;
  esac
  [ "$got" = $want ] || { wrong $want "$got" "$part.check"; return; }
  [ -z "$mlir" ] || [ "$mlir" = $says ] || { wrong "$says by mlir-opt" "$mlir"; return; }
  if [ $want = refused ]; then
    grep -qF -e "$text" "$part.check" || { wrong "'$text'" "another message" "$part.check"; return; }
  else
    same "" && same --mlir-print-op-generic && lowered || return
  fi
  if [ "$what" = 'not lowered' ]; then
    [ $status = 1 ] || { wrong "lower to fail" "exit status $status"; return; }
    grep -qF -e "$text" "$part.lower" || { wrong "lower to say '$text'" "another message" "$part.lower"; return; }
  fi
  echo "PASS $name"
}

count=0
for file in tests/mods/mlir/*.mlir; do
  base=$(basename "$file" .mlir)
  awk -v to="$work/$base" 'BEGIN { n = 1 } /^\/\/ -----/ { close(to "." n ".mlir"); n++; line = 0; next }
    { if (line++ || $0 != "") { if (!(n in at)) { at[n] = NR; print NR > (to "." n ".line") } print > (to "." n ".mlir") } else line = 0 }' "$file"
  number=1
  while [ -f "$work/$base.$number.mlir" ]; do
    part=$work/$base.$number.mlir name=${base}_$number place=$file:$(cat "$work/$base.$number.line")
    try
    number=$((number + 1)) count=$((count + 1))
  done
done
name=enough_parts
if [ $count -ge 60 ]; then echo "PASS $name"; else echo "FAIL $name: only $count"; fi
