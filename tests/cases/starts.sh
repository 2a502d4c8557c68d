# What ./run builds, and what ./bench only says: with a meson and a ninja that write down what they are asked.
: "${BUILD:?}"
work=$BUILD/starts
rm -rf "$work"
mkdir -p "$work/bin"
tell() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
ninja=$(command -v ninja)
tell dpkg-query "echo 'install ok installed'"
tell apt-get "echo apt-get >>'$work/asked'; exit 1"
tell meson "echo meson >>'$work/asked'"
tell ninja "echo \"\$@\" >'$work/ninja'; echo ninja >>'$work/asked'; printf '#!/bin/sh\\n' >'$work/build/tidemark'; chmod +x '$work/build/tidemark'"

# The graph of this build says what the targets bring.
PATH=$work/bin:$PATH BUILD=$work/build ./run --version >"$work/out" 2>&1
targets=$(sed -n 's,^.*-C [^ ]* *,,p' "$work/ninja")
# shellcheck disable=SC2086
"$ninja" -C "$BUILD" -t query $targets >"$work/inputs" 2>&1
for library in tidemark tidemark-lang tidemark-mods; do
  if grep -q "^[ |]*lib$library\.so\.[0-9.]*$" "$work/inputs"; then echo "PASS run_builds_$library"
  else echo "FAIL run_builds_$library: './run' asks for '$targets', which do not bring lib$library.so"; fi
done
if grep -q '^[ |]*tidemark$' "$work/inputs"; then echo "PASS run_builds_tool"
else echo "FAIL run_builds_tool: './run' asks for '$targets'"; fi

# A list of what could be measured asks nobody, and makes no folder.
: >"$work/asked"
listed() { # name, what must be in the list, what must not, words…
  name=$1 wanted=$2 other=$3
  shift 3
  PATH=$work/bin:$PATH BUILD=$work/build-bench ./bench "$@" >"$work/out" 2>&1
  status=$?
  if [ $status != 0 ] || [ -s "$work/asked" ] || [ -d "$work/build-bench" ]; then
    echo "FAIL $name: exit status $status; asked: $(tr '\n' ' ' <"$work/asked")"
  elif ! grep -qx "$wanted" "$work/out"; then echo "FAIL $name: no $wanted"
  elif grep -q "$other" "$work/out"; then echo "FAIL $name: $(grep "$other" "$work/out" | head -n 1)"
  else echo "PASS $name"; fi
}
listed bench_list pool/alloc_free_floor nothing --list
listed bench_list_word pool_trace/1_queue pool/ --list pool_trace
listed bench_list_options pool_trace/1_queue floors --plot floors --list pool_trace --json
listed bench_help 'With --smoke.*' pool/ --help
groups=$(grep -l 'bench_figure bench_.*\[\]' benchmarks/*.c | sed 's,.*/\(.*\)\.c,\1,')
PATH=$work/bin:$PATH ./bench --list | sed 's,/.*,,' | sort -u >"$work/groups"
# shellcheck disable=SC2086
if [ "$(printf '%s\n' $groups | LC_ALL=C sort)" = "$(LC_ALL=C sort "$work/groups")" ]; then echo "PASS bench_list_groups"
else echo "FAIL bench_list_groups: $(tr '\n' ' ' <"$work/groups")"; fi
PATH=$work/bin:$PATH ./bench --list no_such_figure >"$work/out" 2>&1
status=$?
if [ $status = 2 ] && grep -q 'no figure has such a name' "$work/out"; then echo "PASS bench_list_nothing"
else echo "FAIL bench_list_nothing: exit status $status, $(cat "$work/out")"; fi
