# benchmarks/view.sh run|draw: the page in a browser, for benchmarks/view.c. Prints numbers (tests/browser/bench.mjs), or
# `SKIP view: WHY`. $BUILD is where the tool was built.
lacking() {
  echo "SKIP view: $1"
  exit 0
}
SOURCE=$PWD WORK=$BUILD/view TIDEMARK=$BUILD/tidemark
export BUILD SOURCE WORK TIDEMARK
mkdir -p "$WORK"
[ -f tests/browser/prepare ] || lacking "tests/ is not here: start ./bench in the repository"
"$TIDEMARK" view --export "$WORK/page.html" >/dev/null 2>&1 || lacking "this tool was built without the page"
. tests/browser/prepare
exec node "$modules/bench.mjs" "$1"
