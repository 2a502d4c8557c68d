#!/bin/sh
# tidemark mods run: each tests/mods/exec-*.mlir says how it is run (`// args:`) and what must be in
# what it prints (`// expect:`, a line each); an expected error makes it exit with 1.
set -eu
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

one() {
  file=$1
  args=$(sed -n 's,^// args: *,,p' "$file")
  # shellcheck disable=SC2086
  "$TIDEMARK" mods run "$file" $args >"$dir/out" 2>&1 && status=0 || status=$?
  if grep -q ': error: ' "$dir/out"; then wanted=1; else wanted=0; fi
  [ "$status" = "$wanted" ] || { echo "exit status $status"; return; }
  sed -n 's,^// expect: ,,p' "$file" >"$dir/expect"
  [ -s "$dir/expect" ] || { echo "expects nothing"; return; }
  while IFS= read -r line; do
    grep -qF -e "$line" "$dir/out" || { echo "no '$line' in: $(head -c 400 "$dir/out" | tr '\n' ' ')"; return; }
  done <"$dir/expect"
}

for file in tests/mods/exec-*.mlir; do
  why=$(one "$file")
  name=$(basename "$file" .mlir)
  if [ -z "$why" ]; then echo "PASS $name"; else echo "FAIL $name: $why"; fi
done

# Any schedule of the persistent GEMM is right; the same seed is the same run.
if "$TIDEMARK" mods run examples/mods/gemm.mlir --grid 4 --cluster 2x1 --explore 40 >"$dir/out" 2>&1 &&
  grep -q '^C = A \* B: right$' "$dir/out"; then
  echo "PASS gemm"
else
  echo "FAIL gemm: $(head -c 300 "$dir/out")"
fi
# What MLIR leaves undefined is an error with its place, also where the host's processor has a result.
undefined() { # operation, type, a, b, what is said; nothing: it runs
  printf 'gpu.module @m {\n gpu.func @k(%%a: %s, %%b: %s) kernel {\n  %%0 = arith.%s %%a, %%b : %s\n  gpu.return\n }\n}\n' "$2" "$2" "$1" "$2" >"$dir/undefined.mlir"
  "$TIDEMARK" mods run "$dir/undefined.mlir" --block 1 --arg "a=$3" --arg "b=$4" >"$dir/out" 2>&1 && status=0 || status=$?
  if [ "$status" = "$([ -z "$5" ] && echo 0 || echo 1)" ] && { [ -z "$5" ] || grep -q "undefined.mlir:3:8: error: 'arith.$1' op $5" "$dir/out"; }; then echo "PASS undefined $1 $2 $3 $4"
  else echo "FAIL undefined $1 $2 $3 $4: exit status $status, $(head -c 300 "$dir/out")"; fi
}
for operation in divsi remsi ceildivsi floordivsi; do
  undefined $operation i32 -2147483648 -1 'divides the smallest number by -1'
  undefined $operation i8 -128 -1 'divides the smallest number by -1'
  undefined $operation i64 -9223372036854775808 -1 'divides the smallest number by -1'
  undefined $operation i32 7 0 'divides by zero'
  undefined $operation i32 -2147483647 -1 ''
done
undefined divui i32 -2147483648 -1 ''
for operation in shli shrsi shrui; do
  undefined $operation i32 -7 32 'shifts by the width of its type or more'
  undefined $operation i16 -7 -1 'shifts by the width of its type or more'
  undefined $operation i64 -7 64 'shifts by the width of its type or more'
  undefined $operation i32 -7 31 ''
done
# A cast drops the fraction; what remains must fit.
undefined_cast() { # operation, the float's type, the integer's type, value, undefined or nothing
  printf 'gpu.module @m {\n gpu.func @k(%%a: %s) kernel {\n  %%0 = arith.%s %%a : %s to %s\n  gpu.return\n }\n}\n' "$2" "$1" "$2" "$3" >"$dir/undefined.mlir"
  "$TIDEMARK" mods run "$dir/undefined.mlir" --block 1 --arg "a=$4" >"$dir/out" 2>&1 && status=0 || status=$?
  if [ "$status" = "$([ -z "$5" ] && echo 0 || echo 1)" ] && { [ -z "$5" ] || grep -q "undefined.mlir:3:8: error: 'arith.$1' op casts a value that doesn't fit into its type" "$dir/out"; }; then echo "PASS undefined $1 $2 $3 $4"
  else echo "FAIL undefined $1 $2 $3 $4: exit status $status, $(head -c 300 "$dir/out")"; fi
}
undefined_cast fptosi f32 i32 2147483648 yes
undefined_cast fptosi f32 i32 2147483520 ''
undefined_cast fptosi f64 i32 2147483647.5 ''
undefined_cast fptosi f64 i32 -2147483648.5 ''
undefined_cast fptosi f64 i32 -2147483649 yes
undefined_cast fptosi f64 i64 9223372036854775808 yes
undefined_cast fptosi f64 i64 -9223372036854775808 ''
undefined_cast fptosi f64 i64 -9223372036854777856 yes
undefined_cast fptosi f16 i8 -128.5 ''
undefined_cast fptosi f16 i8 128 yes
undefined_cast fptosi f32 i1 -1 ''
undefined_cast fptosi f32 i1 1 yes
undefined_cast fptosi f32 i32 nan yes
undefined_cast fptosi f32 i32 inf yes
undefined_cast fptoui f32 i32 -0.5 ''
undefined_cast fptoui f32 i32 -1 yes
undefined_cast fptoui f64 i32 4294967295.5 ''
undefined_cast fptoui f64 i32 4294967296 yes
undefined_cast fptoui f64 i64 18446744073709549568 ''
undefined_cast fptoui f64 i64 18446744073709551616 yes
undefined_cast fptoui bf16 i64 nan yes
# Stream-K: tiles in two pieces, tiles in four (a first, two in the middle, a last), and grids that split nothing.
four='--arg m=1 --arg n=1 --arg A=f32[4x64]random --arg B=f32[64x8]random --arg C=f32[4x8]zero'
streamk() { # name, file, words
  # shellcheck disable=SC2086
  "$TIDEMARK" mods run "$2" --steps 2000000 --explore 40 $3 >"$dir/out" 2>&1 && status=0 || status=$?
}
for words in '--grid 2x4' "--grid 2x8 $four" '--grid 2x3' '--grid 2'; do
  streamk right examples/mods/streamk.mlir "$words"
  if [ "$status" = 0 ] && grep -q '^C = A \* B: right$' "$dir/out"; then echo "PASS streamk ${words%% --arg*}"
  else echo "FAIL streamk ${words%% --arg*}: $(head -c 300 "$dir/out")"; fi
done
# A wrong order of the fix-up: whoever does not wait for the pieces before his own gets a wrong product in some
# schedule; who waits for his own end, or tells of his own pieces only, waits for ever, and where is said.
wrong() { # name, what is changed, into what, what is said
  sed "s/$2/$3/" examples/mods/streamk.mlir >"$dir/wrong.mlir"
  if cmp -s examples/mods/streamk.mlir "$dir/wrong.mlir"; then echo "FAIL $1: nothing was changed"; return; fi
  streamk "$1" "$dir/wrong.mlir" "--grid 2x8 $four"
  if [ "$status" = 1 ] && grep -q -e "$4" "$dir/out"; then echo "PASS $1"; else echo "FAIL $1: exit status $status, $(head -c 300 "$dir/out")"; fi
}
wrong streamk_no_wait 'cmpi ne, %there, %k_begin' 'cmpi sgt, %there, %k_begin' 'wrong: row 0, column 0'
wrong streamk_not_in_order 'cmpi ne, %there, %k_begin' 'cmpi eq, %there, %zero' 'wrong: row'
wrong streamk_waits_for_itself 'cmpi ne, %there, %k_begin' 'cmpi ne, %there, %k_end' "wrong.mlir:.*isn't over: it may never be"
wrong streamk_tells_too_little '(%lock, %k_end)' '(%lock, %k_count)' 'note: CTA .*: runs here'
for words in '--grid 0' '--grid 1x' '--grid 1x1x1x1' '--explore 0' '--arg =3' '--seed x'; do
  # shellcheck disable=SC2086
  "$TIDEMARK" mods run examples/mods/gemm.mlir $words >"$dir/out" 2>&1 && status=0 || status=$?
  if [ "$status" = 2 ]; then echo "PASS usage $words"; else echo "FAIL usage $words: status $status"; fi
done
for words in '--grid 3' '--cluster 1x2' '--block 2048' '--arg A=7' '--arg m=f32[2]random' '--kernel none' '--print D' '--arg zz=3' '--arg n=4294967300' '--arg n=2.5'; do
  # shellcheck disable=SC2086
  "$TIDEMARK" mods run examples/mods/gemm.mlir --grid 2 $words >"$dir/out" 2>&1 && status=0 || status=$?
  if [ "$status" = 1 ] && [ -s "$dir/out" ]; then echo "PASS refused $words"; else echo "FAIL refused $words: status $status"; fi
done

# MLIR's tools name arguments anew: what is said of them is taken in order, and by the names that it has there.
sed -e 's/%A\b/%arg0/g; s/%B\b/%arg1/g; s/%C\b/%arg2/g; s/%m\b/%arg3/g; s/%n\b/%arg4/g; s/%k\b/%arg5/g' examples/mods/gemm.mlir >"$dir/anew.mlir"
if "$TIDEMARK" mods run "$dir/anew.mlir" --grid 4 --arg k=2 --arg 'A=f32[64x16] random' --arg 'B=f32[16x64] random' >"$dir/out" 2>&1 && grep -q '^C = A \* B: right$' "$dir/out"; then
  echo "PASS arguments_anew"
else echo "FAIL arguments_anew: $(head -c 300 "$dir/out")"; fi
sed -i 's/"m = 8", //' "$dir/anew.mlir"
if "$TIDEMARK" mods run "$dir/anew.mlir" --grid 4 >"$dir/out" 2>&1; then echo "FAIL one_too_few"
elif grep -q "nothing is said of argument 'arg0'" "$dir/out"; then echo "PASS one_too_few"; else echo "FAIL one_too_few: $(head -c 300 "$dir/out")"; fi

# A block that is not what the kernel says, or without all warps of its regions.
sed 's/known_block_size = array<i32: 160, 1, 1>,//' examples/mods/gemm.mlir >"$dir/any_block.mlir"
for words in '32 gemm another.block' '160x2 gemm another.block' '128 any_block without.all.warps' '160x2 any_block without.all.warps'; do
  # shellcheck disable=SC2086
  set -- $words
  file=$dir/$2.mlir
  [ "$2" = gemm ] && file=examples/mods/gemm.mlir
  "$TIDEMARK" mods run "$file" --grid 2 --block "$1" >"$dir/out" 2>&1 && status=0 || status=$?
  if [ "$status" = 1 ] && grep -q -e "$3" "$dir/out"; then echo "PASS block $words"; else echo "FAIL block $words: status $status"; fi
done
if "$TIDEMARK" mods run "$dir/any_block.mlir" --grid 2 --block 192 >"$dir/out" 2>&1; then echo "PASS larger_block"; else echo "FAIL larger_block: $(head -c 300 "$dir/out")"; fi

# On a GPU: over a driver that is none, whose kernel `gemm` is C and whose `gemm_off` is wrong; and on
# one that is there. The PTX is the one that is checked in, so this needs no compiler.
: "${BUILD:?}"
ptx=benchmarks/mods_gpu/window.ptx
gpu() { "$TIDEMARK" mods run "$@" --grid 4 --device cuda >"$dir/out" 2>&1 && status=0 || status=$?; }
says() { # name, exit status, what it says
  if [ "$status" = "$2" ] && grep -q -e "$3" "$dir/out"; then echo "PASS $1"
  else echo "FAIL $1: exit status $status, $(head -c 300 "$dir/out" | tr '\n' ' ')"; fi
}
fake=$BUILD/plugin-cuda.so
gpu examples/mods/gemm.mlir --ptx $ptx --driver "$fake" --repeat 2
says gpu_same_bytes 0 'the same bytes as on the CPU'
says gpu_repeats 0 'us a launch'
for file in examples/mods/gemm.mlir $ptx; do sed 's/\bgemm\b/gemm_off/' "$file" >"$dir/off.${file##*.}"; done
gpu "$dir/off.mlir" --ptx "$dir/off.ptx" --driver "$fake"
says gpu_wrong_is_found 1 'C: byte .* on the GPU and .* on the CPU'
gpu examples/mods/gemm.mlir --ptx "$dir/off.ptx" --driver "$fake"
says gpu_no_such_kernel 1 "the PTX has no kernel 'gemm'"
gpu examples/mods/gemm.mlir --ptx "$dir/none.ptx" --driver "$fake"
says gpu_no_ptx 1 'No such file'
gpu examples/mods/gemm.mlir --ptx $ptx --driver "$dir/none.so"
says gpu_no_driver 0 '^SKIP: there is no GPU driver'
gpu examples/mods/gemm.mlir --ptx $ptx
if grep -q '^SKIP: ' "$dir/out"; then sed -n 's/^SKIP: /SKIP gpu: /p' "$dir/out"; else says gpu 0 'the same bytes as on the CPU'; fi
gpu examples/mods/gemm.mlir --device tpu
says gpu_what_device 2 'not what it takes'
