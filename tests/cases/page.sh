# tidemark view as a server, without a browser: who gets the page, and who does not.
: "${BUILD:?}" "${TIDEMARK:?}"
case ${TEST_KIND-plain} in tsan) echo "SKIP page: libmicrohttpd is not built for ThreadSanitizer"; exit 0 ;; esac
if ! "$TIDEMARK" view --export "$BUILD/page-exported.html" >/dev/null 2>"$BUILD/page-err" &&
  grep -q 'built without the page' "$BUILD/page-err"; then
  echo "SKIP page: this tool was built without the page"
  exit 0
fi
exec python3 -B tests/cases/page_requests.py "$TIDEMARK" "$BUILD/page"
