# Who may not install is told everything in one line, and nothing is tried: run, test and bench on a
# machine that has none of the packages, as somebody who is not root and has no sudo.
: "${BUILD:?}"
fake=$BUILD/need
rm -rf "$fake"
mkdir -p "$fake/bin"
tell() { printf '#!/bin/sh\n%s\n' "$2" >"$fake/bin/$1" && chmod +x "$fake/bin/$1"; }
tell dpkg-query 'exit 1'
tell id 'echo 1000'
tell sudo 'exit 1'
tell apt-get "echo called >>'$fake/apt'; exit 1"
lists_one_line() { # name, packages that must be in it, what to run…
  name=$1 wanted=$2
  shift 2
  PATH=$fake/bin:$PATH sh "$@" >"$fake/out" 2>&1
  status=$?
  lines=$(grep -c 'apt-get install' "$fake/out")
  missing=
  for package in $wanted; do grep -q "apt-get install .* $package\( \|\$\)" "$fake/out" || missing="$missing $package"; done
  if [ $status = 1 ] && [ "$lines" = 1 ] && [ -z "$missing" ] && [ ! -f "$fake/apt" ]; then echo "PASS $name"
  else echo "FAIL $name: exit status $status, $lines lines,$missing: $(tr '\n' '|' <"$fake/out")"; fi
}
build='gcc libc6-dev meson ninja-build pkg-config liburing-dev libxxhash-dev libpng-dev libvulkan-dev'
lists_one_line run "$build" ./run
lists_one_line view "$build clang lld libmicrohttpd-dev" ./run view
lists_one_line test "$build clang lld clang-format clang-tidy g++ libclang-rt-dev spin" ./test
lists_one_line bench "$build g++ clang libtbb-dev libomp-dev libstarpu-dev" ./bench

# With sudo it installs, and the lists are read first; what fails is shown.
tell sudo "[ \"\$1\" = -n ] || exit 1; shift; exec \"\$@\""
PATH=$fake/bin:$PATH sh ./run >"$fake/out" 2>&1
if [ $? = 1 ] && [ "$(wc -l <"$fake/apt")" = 1 ] && grep -q "apt-get update.* failed" "$fake/out"; then
  echo "PASS failing_update"
else echo "FAIL failing_update: $(tr '\n' '|' <"$fake/out")"; fi
