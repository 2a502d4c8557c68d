# tests/mods/*.mlir by their first line, `// RUN: HOW [OPTIONS]`:
#   valid     is accepted; printing it is a fixed point in both forms, and neither loses anything; mlir-opt
#             takes what we print in its generic form, and finds nothing else in it than in the custom one
#   invalid   says of itself what is wrong with it (--verify-diagnostics)
#   opt       prints what stands in NAME.out, and on stderr NAME.err where there is one; UPDATE=1 writes them
# Files with another first line belong to other cases.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/mods
rm -rf "$work"
mkdir -p "$work"
. scripts/need
oracle=
need_is_there mlir-19-tools && oracle=$(command -v mlir-opt-19 || echo /usr/lib/llvm-19/bin/mlir-opt)
[ -n "$oracle" ] && [ -x "$oracle" ] || oracle=

fail() {
  echo "FAIL $name: $1"
  shift
  [ $# = 0 ] || head -20 "$@" | sed 's/^/  /'
}

# split OPTION…: reads the parts of $file; prints each on its own.
opt() { "$TIDEMARK" mods opt --split-input-file "$@"; }

valid() {
  out=$work/$name
  if ! "$TIDEMARK" mods check --split-input-file "$@" "$file" 2>"$out.err"; then
    fail "is refused" "$out.err"
  elif [ -s "$out.err" ]; then
    fail "says something" "$out.err"
  elif ! opt "$@" "$file" >"$out.1" || ! opt "$@" "$out.1" >"$out.2"; then
    fail "what is printed is refused"
  elif ! cmp -s "$out.1" "$out.2"; then
    diff "$out.1" "$out.2" >"$out.diff"
    fail "printing it again changes it" "$out.diff"
  elif ! opt --mlir-print-op-generic "$@" "$file" >"$out.g1" ||
    ! opt --mlir-print-op-generic "$@" "$out.g1" >"$out.g2" ||
    ! opt --mlir-print-op-generic "$@" "$out.1" >"$out.g3"; then
    fail "the generic form is refused"
  elif ! cmp -s "$out.g1" "$out.g2" || ! cmp -s "$out.g1" "$out.g3"; then
    fail "the generic form is no fixed point"
  elif [ -n "$oracle" ] && ! "$oracle" --allow-unregistered-dialect --split-input-file "$out.g1" >"$out.m1" 2>"$out.err"; then
    fail "mlir-opt refuses the generic form" "$out.err"
  else
    echo "PASS $name"
  fi
}

invalid() {
  if "$TIDEMARK" mods check --split-input-file --verify-diagnostics "$@" "$file" >"$work/$name.err" 2>&1; then
    echo "PASS $name"
  else
    fail "says something else" "$work/$name.err"
  fi
}

# golden FILE KIND: compares with tests/mods/NAME.KIND.
golden() {
  expected=${file%.mlir}.$2
  [ "${UPDATE-}" = 1 ] && cp "$1" "$expected"
  cmp -s "$1" "$expected" && return 0
  diff "$1" "$expected" >"$work/$name.diff" 2>&1
  fail "differs from $expected" "$work/$name.diff"
  return 1
}

opt_golden() {
  (cd tests/mods && opt "$@" "$name.mlir") >"$work/$name.out" 2>"$work/$name.err" ||
    { fail "is refused" "$work/$name.err"; return; }
  golden "$work/$name.out" out || return
  if [ -s "$work/$name.err" ] || [ -f "${file%.mlir}.err" ]; then golden "$work/$name.err" err || return; fi
  echo "PASS $name"
}

count=0
for file in tests/mods/*.mlir examples/mods/*.mlir; do
  name=$(basename "$file" .mlir)
  read -r slashes run how options <"$file"
  case $file in examples/*) name=example_$name slashes=// run=RUN: how=valid options= ;; esac
  [ "$slashes $run" = "// RUN:" ] || continue
  # shellcheck disable=SC2086
  case $how in
    valid) valid $options ;;
    invalid) invalid $options ;;
    opt) opt_golden $options ;;
    *) continue ;;
  esac
  count=$((count + 1))
done
name=enough_files
if [ $count -ge 45 ]; then echo "PASS $name"; else fail "only $count files"; fi

# ---- the tool ----

# says NAME STATUS PATTERN COMMAND…: stdin is given; what is printed on either side matches.
says() {
  name=$1 want=$2 pattern=$3
  shift 3
  "$@" >"$work/$name.all" 2>&1
  status=$?
  if [ $status != "$want" ]; then
    fail "exit status $status, not $want" "$work/$name.all"
  elif ! grep -q -e "$pattern" "$work/$name.all"; then
    fail "does not say '$pattern'" "$work/$name.all"
  else
    echo "PASS $name"
  fi
}
says help 0 'usage: tidemark mods' "$TIDEMARK" mods --help
says help_check 0 '--verify-diagnostics' "$TIDEMARK" mods check --help
says help_opt 0 '--mlir-print-op-generic' "$TIDEMARK" mods opt --help
says no_command 2 'there is no command' "$TIDEMARK" mods lowr
says no_option 2 'nonsense' "$TIDEMARK" mods check --nonsense
says wrong_value 2 'not one of its values' "$TIDEMARK" mods opt --throttle=often
says partial_refused 1 'leaves out 3 of 4 CTAs' "$TIDEMARK" mods check --partial=error tests/mods/participants_partial.mlir
says no_file 1 'No such file' "$TIDEMARK" mods check "$work/no-such.mlir"
echo 'func.func @f() { %0 = arith.addi %1, %1 : i32 func.return }' >"$work/bad.mlir"
says place 1 'bad.mlir:1:34: error: use of undeclared SSA value name' "$TIDEMARK" mods check "$work/bad.mlir"
says caret 1 '^ *^$' "$TIDEMARK" mods check "$work/bad.mlir"
says from_stdin 0 'module {' sh -c 'echo "module {}" | "$0" mods opt -' "$TIDEMARK"
says one_dash 0 'module {' sh -c 'echo "module {}" | "$0" mods opt -split-input-file' "$TIDEMARK"
says byte_order_mark 0 'module {' sh -c 'printf "\357\273\277// CRLF\r\nmodule {\r\n}" | "$0" mods opt' "$TIDEMARK"
says byte_order_mark_place 1 '<stdin>:1:3: error' sh -c 'printf "\357\273\277  =\r\n" | "$0" mods check' "$TIDEMARK"
says byte_order_mark_inside 1 '<stdin>:1:1: error' sh -c 'printf "\357\273\277\357\273\277module {}" | "$0" mods check' "$TIDEMARK"
says stdin_place 1 '<stdin>:1:1: error' sh -c 'echo "=" | "$0" mods check' "$TIDEMARK"
says not_produced 1 'was not produced' sh -c 'echo "// expected-error@+1 {{no}}" | "$0" mods check --verify-diagnostics -' "$TIDEMARK"
says unexpected 1 'unexpected error' sh -c 'echo "=" | "$0" mods check --verify-diagnostics -' "$TIDEMARK"

# Errors and what is printed have bounds, whatever the text has.
many() { # how many
  echo 'func.func @f(%x: i32) {'
  awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "  %%v%d = arith.addi %%x, %%u%d : i32\n", i, i }'
  printf '  func.return\n}\n'
}
many 5000 >"$work/many.mlir"
# told OPTIONS…: how many errors have a place.
told() { "$TIDEMARK" mods check "$@" "$work/many.mlir" 2>"$work/many.err"; grep -c 'many.mlir:[0-9]*:[0-9]*: error' "$work/many.err"; }
bounded() { # name, wanted, options
  name=$1 want=$2
  shift 2
  got=$(told "$@")
  [ "$got" = "$want" ] && echo "PASS $name" || fail "$got errors are told, not $want"
}
bounded errors_20 20
bounded errors_3 3 --errors 3
bounded errors_all 5000 --errors 0
name=errors_first got=$("$TIDEMARK" mods check --errors 3 "$work/many.mlir" 2>&1 | sed -n 's/.*many.mlir:\([0-9]*\):[0-9]*: error.*/\1/p' | tr '\n' ' ')
[ "$got" = '2 3 4 ' ] && echo "PASS $name" || fail "the errors are those of lines $got"
says errors_more 1 '4980 more errors' "$TIDEMARK" mods check "$work/many.mlir"
says errors_wrong 2 'not one of its values' "$TIDEMARK" mods check --errors some "$work/many.mlir"
# bomb SIGIL FIRST BEFORE BETWEEN BEHIND: aliases of eight each, seven levels.
bomb() {
  echo "$1a0 = $2"
  for level in 1 2 3 4 5 6 7 8; do
    item=$1a$((level - 1))
    echo "$1a$level = $3$item$4$item$4$item$4$item$4$item$4$item$4$item$4$item$5"
  done
}
{ bomb '#' '[0]' '[' ', ' ']'; echo 'module attributes {some.thing = #a8} {}'; } >"$work/bomb.mlir"
says bomb_attribute 1 'parts when its aliases are spelled out' "$TIDEMARK" mods opt "$work/bomb.mlir"
{ bomb '!' 'i32' '(' ', ' ') -> ()'; echo 'func.func private @f(!a8)'; } >"$work/bomb.mlir"
says bomb_type 1 'parts when its aliases are spelled out' "$TIDEMARK" mods opt "$work/bomb.mlir"
{ bomb '#' '[0]' '[' ', ' ']' | head -7; awk 'BEGIN { for (i = 0; i < 200; i++) print "func.func private @f" i "() attributes {some.thing = #a6}" }'; } >"$work/bomb.mlir"
name=bomb_accepted
"$TIDEMARK" mods check "$work/bomb.mlir" && echo "PASS $name" || fail "is refused"
says bomb_everywhere 1 'too long when its aliases are spelled out' "$TIDEMARK" mods opt "$work/bomb.mlir"
{ bomb '!' 'i32' 'tuple<' ', ' '>' | sed -n 1,8p; echo 'func.func private @f(!a7)'; } >"$work/bomb.mlir"
says bomb_opaque 1 'bytes when its aliases are spelled out' "$TIDEMARK" mods opt "$work/bomb.mlir"

# An error is told where loc(…) says that its operation comes from, and who called that.
at() {
  printf 'func.func @f(%%a: i32, %%l: i64) {\n "arith.addi"(%%a, %%l) : (i32, i64) -> i32 loc(%s)\n func.return\n}\n#in = loc("in.cu":3:4)\n#far = loc(callsite(#in at callsite("out.cu":5:6 at "main"("main.cu":7:8))))\n' "$1" >"$work/at.mlir"
  "$TIDEMARK" mods check "$work/at.mlir" 2>&1 | grep -e error: -e note: | sed "s/: *'arith.*//" | tr '\n' ' '
}
placed() {
  name=placed_$1
  [ "$(at "$2")" = "$3 " ] && echo "PASS $name" || fail "is told at $(at "$2")"
}
placed file '"a.cu":1:2' 'a.cu:1:2: error'
placed name '"n"("a.cu":1:2)' 'a.cu:1:2: error'
placed later '#in' 'in.cu:3:4: error'
placed fused 'fused<"why">[unknown, "n"("a.cu":1:2), "b.cu":3:4]' 'a.cu:1:2: error'
placed call '#far' 'in.cu:3:4: error out.cu:5:6: note: called from main.cu:7:8: note: called from'
placed caller 'callsite("n" at "b.cu":3:4)' 'b.cu:3:4: error'
placed unknown 'unknown' '<unknown>:0: error'

# ---- what we print, and what MLIR itself prints ----
if [ -z "$oracle" ]; then
  echo "SKIP as_mlir_prints: mlir-19-tools is not installed"
else
  for name in arith scf functions memory dominance; do
    file=tests/mods/$name.mlir out=$work/as_$name
    "$TIDEMARK" mods opt --mlir-print-op-generic "$file" >"$out.generic"
    "$TIDEMARK" mods opt "$file" >"$out.custom"
    name=as_mlir_$name
    if ! "$oracle" --allow-unregistered-dialect "$file" >"$out.1" || ! "$oracle" --allow-unregistered-dialect "$out.generic" >"$out.2" ||
      ! "$oracle" --allow-unregistered-dialect "$out.custom" >"$out.3"; then
      fail "mlir-opt refuses it"
    elif ! cmp -s "$out.1" "$out.2" || ! cmp -s "$out.1" "$out.3"; then
      diff "$out.1" "$out.2" >"$out.diff"
      diff "$out.1" "$out.3" >>"$out.diff"
      fail "mlir-opt finds another program in what we print" "$out.diff"
    elif ! "$TIDEMARK" mods opt --mlir-print-op-generic "$out.1" >"$out.4"; then
      fail "what mlir-opt prints is refused"
    else
      echo "PASS $name"
    fi
  done
  # The examples, as mlir-opt writes them: they are taken, and run right.
  for words in 'gemm 4' 'streamk 2x4'; do
    file=${words% *} out=$work/through
    "$TIDEMARK" mods opt --mlir-print-op-generic "examples/mods/$file.mlir" >"$out.mlir"
    for passes in '' '-canonicalize -cse' '--mlir-print-debuginfo' '--mlir-print-debuginfo --mlir-print-local-scope'; do
      name="through_mlir_$file$passes"
      # shellcheck disable=SC2086
      if ! "$oracle" --allow-unregistered-dialect $passes "$out.mlir" >"$out.1" 2>"$out.err"; then fail "mlir-opt refuses it" "$out.err"
      elif ! "$TIDEMARK" mods run "$out.1" --grid "${words#* }" >"$out.2" 2>&1 || ! grep -q 'A \* B: right' "$out.2"; then fail "is not right" "$out.2"
      else echo "PASS $name" | tr -d ' ' | sed 's/^PASS/PASS /'
      fi
    done
  done
  # Its places, by names that are defined at the end, are ours.
  name=as_mlir_debuginfo out=$work/as_debuginfo
  sed '/^ *%7 =/d; s/%7/%6/; s/{mark.*} : i32 loc/: i32 loc/; s/loc("a.mlir":1:1)//' tests/mods/locations.mlir >"$out.mlir"
  "$oracle" --allow-unregistered-dialect --mlir-print-debuginfo "$out.mlir" >"$out.1"
  "$TIDEMARK" mods opt --allow-unregistered-dialect --mlir-print-debuginfo "$out.1" >"$out.2"
  "$TIDEMARK" mods opt --allow-unregistered-dialect --mlir-print-debuginfo "$out.2" >"$out.3"
  if ! grep -q '^#loc.* = loc(callsite(#loc' "$out.1"; then fail "mlir-opt prints no names of places"
  elif ! cmp -s "$out.2" "$out.3"; then fail "printing it again changes it"
  elif ! grep -q 'loc(callsite("f"("kernel.cu":12:5) at "later.cu":99:1))' "$out.2"; then fail "a place is lost" "$out.2"
  elif ! "$oracle" --allow-unregistered-dialect --mlir-print-debuginfo "$out.2" | grep -v 'func.func\|as_debuginfo' >"$out.4" ||
    ! "$oracle" --allow-unregistered-dialect --mlir-print-debuginfo "$out.3" | grep -v 'func.func\|as_debuginfo' | cmp -s - "$out.4"; then
    fail "mlir-opt finds other places in what we print"
  else
    echo "PASS $name"
  fi
fi
