# tidemark view as a server, without a browser: its address gives the page, and nothing else does; ./run view.
: "${BUILD:?}" "${TIDEMARK:?}"
if ! "$TIDEMARK" view --export "$BUILD/page-exported.html" >/dev/null 2>"$BUILD/page-err" &&
  grep -q 'built without the page' "$BUILD/page-err"; then
  echo "SKIP page: this tool was built without the page"
  exit 0
fi
python3 -B tests/cases/page_requests.py "$TIDEMARK" "$BUILD/page"
status=$?

# From another folder, whose file it shows. A build beside other tests would take the tool from them.
if grep -q '^-Duntil=.' "$BUILD/.options" || ! ninja -n -C "$BUILD" product | grep -q 'no work to do'; then
  echo "SKIP run_view: the tool is not what ./run would build"
else
  run=$PWD/run
  if (cd "$BUILD/page" && "$run" view --export exported.html mine.tide) >"$BUILD/page/said" 2>"$BUILD/page/err" &&
    [ "$(cat "$BUILD/page/said")" = exported.html ] && grep -q '# a program of mine' "$BUILD/page/exported.html" &&
    grep -q "^the tool is $BUILD/tidemark; $BUILD takes [1-9][0-9]* MiB" "$BUILD/page/err"; then echo "PASS run_view"
  else echo "FAIL run_view: $(cat "$BUILD/page/said" "$BUILD/page/err" | tr '\n' '|')"; fi
fi
exit $status
