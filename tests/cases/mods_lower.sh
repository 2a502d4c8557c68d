# tests/mods/*.mlir whose first line is `// RUN: lower [OPTIONS]` or `// RUN: lower-fails [OPTIONS]`.
#   lower        with --emit=mods and --emit=nvvm it prints NAME.mods and NAME.nvvm; UPDATE=1 writes them. Both
#                do what FileCheck reads in the file's CHECK and NVVM lines; mlir-opt takes both; LLVM and
#                ptxas take the second all the way
#   lower-fails  exit status 1, and what the file's SAYS line says
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/mods_lower
rm -rf "$work"
mkdir -p "$work"
tool() { command -v "$1-19" || { [ -x "/usr/lib/llvm-19/bin/$1" ] && echo "/usr/lib/llvm-19/bin/$1"; }; }
mlir_opt=$(tool mlir-opt) filecheck=$(tool FileCheck)
# Any version will do for what our files ask of it.
for any in /usr/bin/FileCheck-[0-9]*; do [ -n "$filecheck" ] || [ ! -x "$any" ] || filecheck=$any; done
tool mlir-translate >/dev/null && tool opt >/dev/null && tool llc >/dev/null && [ -n "$mlir_opt" ] && back=yes || back=
ptxas=$(command -v ptxas || { [ -x /usr/local/cuda/bin/ptxas ] && echo /usr/local/cuda/bin/ptxas; })

fail() {
  echo "FAIL $name: $1"
  shift
  [ $# = 0 ] || head -20 "$@" | sed 's/^/  /'
}
lower() { (cd "$(dirname "$file")" && "$TIDEMARK" mods lower "$@" "$(basename "$file")"); }

# emit FORM PREFIX OPTIONS…: prints, compares, and has others look at it.
emit() {
  form=$1 prefix=$2
  shift 2
  out=$work/$name.$form golden=tests/mods/$name.$form
  lower --emit="$form" "$@" >"$out" 2>"$work/$name.err" || { fail "--emit=$form fails" "$work/$name.err"; return 1; }
  [ "${UPDATE-}" = 1 ] && cp "$out" "$golden"
  cmp -s "$out" "$golden" || { diff "$out" "$golden" >"$work/$name.diff" 2>&1; fail "differs from $golden" "$work/$name.diff"; return 1; }
  "$TIDEMARK" mods opt --allow-unregistered-dialect --mlir-print-op-generic "$out" >"$out.again" 2>"$work/$name.err" && cmp -s "$out" "$out.again" ||
    { fail "is not read again as it was printed ($form)" "$work/$name.err"; return 1; }
  if [ -n "$filecheck" ] && grep -q "// $prefix[-A-Z0-9]*:" "$file"; then
    "$filecheck" --check-prefix="$prefix" --input-file="$out" "$file" 2>"$work/$name.err" || { fail "FileCheck ($form)" "$work/$name.err"; return 1; }
  fi
  [ -n "$mlir_opt" ] || return 0
  allow=
  [ "$form" = mods ] && allow=--allow-unregistered-dialect
  # shellcheck disable=SC2086
  "$mlir_opt" $allow "$out" >/dev/null 2>"$work/$name.err" || { fail "mlir-opt refuses --emit=$form" "$work/$name.err"; return 1; }
}

# Does LLVM take it, and ptxas?
machine() {
  [ -n "$back" ] || return 0
  lower --emit=ptx "$@" -o "$work/$name.ptx" 2>"$work/$name.err" || { fail "--emit=ptx fails" "$work/$name.err"; return 1; }
  [ -n "$ptxas" ] || return 0
  "$ptxas" -arch=sm_90a "$work/$name.ptx" -o "$work/$name.cubin" >"$work/$name.err" 2>&1 || { fail "ptxas refuses it" "$work/$name.err"; return 1; }
}

fails() {
  lower --emit=nvvm "$@" >"$work/$name.out" 2>"$work/$name.err"
  status=$?
  says=$(sed -n 's,^// SAYS: ,,p' "$file")
  if [ $status = 1 ] && grep -q -e "$says" "$work/$name.err"; then echo "PASS $name"
  else fail "exit status $status, or it does not say '$says'" "$work/$name.err"; fi
}

count=0
for file in tests/mods/*.mlir; do
  name=$(basename "$file" .mlir)
  read -r slashes run how options <"$file"
  [ "$slashes $run" = "// RUN:" ] || continue
  # shellcheck disable=SC2086
  case $how in
    lower) emit mods CHECK $options && emit nvvm NVVM $options && machine $options && echo "PASS $name" ;;
    lower-fails) fails $options ;;
    *) continue ;;
  esac
  count=$((count + 1))
done
name=enough_files
if [ $count -ge 20 ]; then echo "PASS $name"; else fail "only $count files"; fi
for file in examples/mods/*.mlir; do
  name=example_$(basename "$file" .mlir)
  if lower --emit=nvvm >/dev/null 2>"$work/$name.err"; then machine && echo "PASS $name"
  else fail "is not lowered" "$work/$name.err"; fi
done

# ---- what is not here is said ----
if [ -z "$filecheck" ] || [ -z "$mlir_opt" ]; then echo "SKIP oracles: no FileCheck or mlir-opt-19 here"; else echo "PASS oracles"; fi
if [ -z "$back" ]; then echo "SKIP machine_code: no mlir-opt-19, mlir-translate-19, opt-19 or llc-19 here"
elif [ -z "$ptxas" ]; then echo "SKIP machine_code: no ptxas here"
else echo "PASS machine_code"; fi

# ---- what must be in the PTX ----
file=examples/mods/gemm.mlir name=cluster_in_ptx
if [ -z "$back" ]; then echo "SKIP $name: no LLVM 19 here"
elif lower --emit=ptx >"$work/gemm.ptx" && grep -q '^\.explicitcluster$' "$work/gemm.ptx" && grep -q '^\.reqnctapercluster 2, 1, 1$' "$work/gemm.ptx"; then
  echo "PASS $name"
else fail "the cluster's shape is missing"; fi
name=timers_stay # two reads of the clock are two reads
if [ -z "$back" ]; then echo "SKIP $name: no LLVM 19 here"
elif [ "$("$TIDEMARK" mods lower --emit=ptx tests/mods/lower-window.mlir | grep -c '%globaltimer')" = 2 ]; then echo "PASS $name"
else fail "the timer is not read twice"; fi
name=stores_whole # the data layout is there: 64 bits are one store
if [ -z "$back" ]; then echo "SKIP $name: no LLVM 19 here"
elif "$TIDEMARK" mods lower --emit=ptx tests/mods/lower-window.mlir | grep -q 'st\.[a-z.]*u64'; then echo "PASS $name"
else fail "no store of 64 bits"; fi

# ---- the tool ----
says() { # name, exit status, pattern, command
  name=$1 want=$2 pattern=$3
  shift 3
  "$@" >"$work/$name.all" 2>&1
  status=$?
  if [ $status = "$want" ] && grep -q -e "$pattern" "$work/$name.all"; then echo "PASS $name"
  else fail "exit status $status, or it does not say '$pattern'" "$work/$name.all"; fi
}
says help 0 '--mods-end' "$TIDEMARK" mods lower --help
says wrong_emit 2 'not one of its values' "$TIDEMARK" mods lower --emit=cubin
says wrong_chip 2 'not one of its values' "$TIDEMARK" mods lower --chip=sm_80 "$file"
says two_files 2 'one file at a time' "$TIDEMARK" mods lower "$file" "$file"
says no_file 1 'No such file' "$TIDEMARK" mods lower "$work/none.mlir"
says from_stdin 0 'builtin.module' sh -c 'echo "module {}" | "$0" mods lower --emit=nvvm' "$TIDEMARK"
: >"$work/nothing"
says no_tool 1 'mlir-opt-19 is not here; Debian has it in mlir-19-tools' env PATH=/nowhere TIDEMARK_LLVM=/nowhere "$TIDEMARK" mods lower --emit=ptx "$file"
mkdir -p "$work/bin"
printf '#!/bin/sh\nexit 3\n' >"$work/bin/mlir-opt-19"
chmod +x "$work/bin/mlir-opt-19"
says tool_fails 1 'mlir-opt-19 failed' env PATH="$work/bin" TIDEMARK_LLVM=/nowhere "$TIDEMARK" mods lower --emit=ptx "$file"
printf '#!/bin/sh\nwhile read -r line; do echo "$line"; done\n' >"$work/bin/mlir-opt-19"
says next_tool_missing 1 'mlir-translate-19 is not here; Debian has it in mlir-19-tools' env PATH="$work/bin" TIDEMARK_LLVM=/nowhere "$TIDEMARK" mods lower --emit=llvm "$file"
env PATH=/nowhere TIDEMARK_LLVM=/nowhere "$TIDEMARK" mods lower --emit=ptx "$file" -o "$work/nothing" 2>/dev/null
name=nothing_is_written
if [ -s "$work/nothing" ]; then fail "a file was written though a tool is missing"; else echo "PASS $name"; fi
says to_folder 1 'it is a folder' "$TIDEMARK" mods lower "$file" -o "$work"
says no_folder 1 'No such file' "$TIDEMARK" mods lower "$file" -o "$work/none/x"
name=no_folder_is_made
if [ -e "$work/none" ]; then fail "a folder was made for the output"; else echo "PASS $name"; fi

# ---- what ./bench mods_gpu launches is what the example gives ----
name=checked_in_ptx
if [ -z "$back" ]; then echo "SKIP $name: no LLVM 19 here"
elif ! scripts/mods-ptx "$TIDEMARK" "$work/gpu" 2>"$work/$name.err"; then fail "scripts/mods-ptx fails" "$work/$name.err"
elif diff -r benchmarks/mods_gpu "$work/gpu" >"$work/$name.diff"; then echo "PASS $name"
else fail "run scripts/mods-ptx build/tidemark $PWD/benchmarks/mods_gpu" "$work/$name.diff"; fi
if [ -n "$ptxas" ]; then
  for ptx in benchmarks/mods_gpu/*.ptx; do
    name=assembles_$(basename "$ptx" .ptx)
    if "$ptxas" -arch=sm_90 "$ptx" -o "$work/gpu.cubin" >"$work/$name.err" 2>&1; then echo "PASS $name"; else fail "ptxas refuses it" "$work/$name.err"; fi
  done
else echo "SKIP assembles: no ptxas here"; fi
