# MLIR's own test files, part by part: mlir-opt's verdict and ours, and what lower makes of each. They come from
# Debian's source package, by a list of sources of this test's own; the system's lists stay as they are.
#   nothing that mlir-opt refuses is lowered with exit status 0, and mlir-opt takes what lower prints
#   check and lower end with 0 or 1, within a minute
#   how many parts are judged alike, and how many we refuse as outside of the subset, is printed (docs/mods.md)
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/mods_upstream
mkdir -p "$work/lists/partial" "$work/parts"
. scripts/need
skip() {
  echo "SKIP upstream: $1"
  exit 0
}
need_is_there mlir-19-tools || skip "mlir-19-tools is not installed"
oracle=$(command -v mlir-opt-19 || echo /usr/lib/llvm-19/bin/mlir-opt)
[ -x "$oracle" ] || skip "there is no mlir-opt 19"
command -v apt-get >/dev/null || skip "there is no apt-get"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$keyring" ] || skip "there is no $keyring"
folders='LLVMIR Arith SCF GPU ControlFlow Func'
tests=$(find "$work" -maxdepth 3 -type d -path '*/mlir/test' 2>/dev/null | head -1)
if [ -z "$tests" ]; then
  . /etc/os-release
  printf 'Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: %s\nComponents: main\nSigned-By: %s\n' "${VERSION_CODENAME:-unknown}" "$keyring" >"$work/own.sources"
  apt() { apt-get -o Dir::Etc::sourcelist="$work/own.sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root "$@"; }
  apt -q update >"$work/log" 2>&1 || skip "the list of sources cannot be read: $(tail -1 "$work/log")"
  (cd "$work" && apt -q --download-only source llvm-toolchain-19) >"$work/log" 2>&1 || skip "the source package cannot be had: $(tail -1 "$work/log")"
  set --
  for folder in $folders; do set -- "$@" "*/mlir/test/Dialect/$folder/*"; done
  (cd "$work" && tar -xJf llvm-toolchain-19_*.orig.tar.xz --wildcards "$@" '*/mlir/test/IR/*') 2>"$work/log" || skip "the source package cannot be unpacked: $(tail -1 "$work/log")"
  rm -f "$work"/llvm-toolchain-19_*.tar.xz "$work"/llvm-toolchain-19_*.dsc
  tests=$(find "$work" -maxdepth 3 -type d -path '*/mlir/test' | head -1)
fi
if python3 -B tests/cases/mods_upstream.py "$TIDEMARK" "$oracle" "$tests" "$work/parts" >"$work/found"; then echo "PASS upstream: $(tail -1 "$work/found")"
else
  echo "FAIL upstream: $(tail -1 "$work/found")"
  grep -v 'only tidemark accepts' "$work/found" | head -40
fi
