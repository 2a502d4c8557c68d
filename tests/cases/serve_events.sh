# The event log of tidemark serve: it never holds up the service, and tells of what it lost.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "${0%.sh}.py" "$TIDEMARK" "$work/events"
