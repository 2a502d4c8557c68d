# tidemark view in a real browser: tests/browser, with Debian's chromium. Where there is none, or no
# registry to take playwright-core and axe-core from, it is skipped; in CI only for want of the registry.
: "${BUILD:?}" "${TIDEMARK:?}"
SOURCE=$PWD
WORK=$BUILD/view
export SOURCE WORK

lacking() {
  if [ -n "${CI-}" ]; then echo "FAIL view: $1"; else echo "SKIP view: $1"; fi
  exit 0
}

# The page is the same under a sanitizer; the server is not.
case ${TEST_KIND-plain} in
  asan) PARTS=served; export PARTS ;;
  tsan) echo "SKIP view: libmicrohttpd is not built for ThreadSanitizer"; exit 0 ;;
esac
if ! "$TIDEMARK" view --export "$BUILD/view-page.html" >/dev/null 2>"$BUILD/view-err"; then
  if grep -q 'built without the page' "$BUILD/view-err"; then lacking "this tool was built without the page"; fi
  echo "FAIL view: $(cat "$BUILD/view-err")"
  exit 1
fi
CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || lacking "there is no chromium"
export CHROMIUM
command -v node >/dev/null || lacking "there is no node"
command -v npm >/dev/null || lacking "there is no npm"
[ -x "$BUILD/view-time" ] || lacking "view-time was not built"

# Node looks for modules beside the program: it is copied to where they are.
modules=$BUILD/browser
mkdir -p "$modules"
cp "$SOURCE"/tests/browser/* "$modules"
if ! cmp -s "$modules/package-lock.json" "$modules/installed.json"; then
  (cd "$modules" && timeout 300 npm ci --ignore-scripts --no-audit --no-fund) >"$BUILD/view-npm" 2>&1 ||
    { echo "SKIP view: npm could not fetch playwright-core and axe-core: $(tail -n 1 "$BUILD/view-npm")"; exit 0; }
  cp "$modules/package-lock.json" "$modules/installed.json"
fi
rm -rf "$WORK"
mkdir -p "$WORK"
exec node "$modules/run.mjs"
