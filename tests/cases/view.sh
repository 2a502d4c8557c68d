# tidemark view in a real browser: tests/browser, with Debian's chromium. Where there is none, or no
# registry to take playwright-core and axe-core from, it is skipped; from ./test --ci on only for want of the registry.
: "${BUILD:?}" "${TIDEMARK:?}"
SOURCE=$PWD
WORK=$BUILD/view
export SOURCE WORK

lacking() {
  if [ "${TEST_TIER-short}" = short ]; then echo "SKIP view: $1"; else echo "FAIL view: $1"; fi
  exit 0
}

# The page is the same under a sanitizer; the server is not.
case ${TEST_KIND-plain} in asan) PARTS=served; export PARTS ;; esac
if ! "$TIDEMARK" view --export "$BUILD/view-page.html" >/dev/null 2>"$BUILD/view-err"; then
  if grep -q 'built without the page' "$BUILD/view-err"; then lacking "this tool was built without the page"; fi
  echo "FAIL view: $(cat "$BUILD/view-err")"
  exit 1
fi
[ -x "$BUILD/view-time" ] || lacking "view-time was not built"
. tests/browser/prepare
rm -rf "$WORK"
mkdir -p "$WORK"
exec node "$modules/run.mjs"
