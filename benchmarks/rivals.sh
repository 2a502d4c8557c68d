# Sourced by the scripts that build rivals with what this machine has.

is_fresh() { # FILE SOURCE…
  built=$1
  shift
  [ -f "$built" ] && [ -z "$(find -L "$@" -newer "$built")" ]
}

# Builds PLACE with SUFFIX by a command that gets `-o FILE` at its end, unless it is newer than all
# sources. If that fails, PLACE.why has the reason and PLACE.log the compiler's.
rival() { # PLACE SUFFIX WHY SOURCES COMMAND…
  place=$1 file=$1$2 lacking=$3 sources=$4
  shift 4
  # shellcheck disable=SC2086
  if is_fresh "$file" $sources; then return 0; fi
  rm -f "$file" "$place.why"
  "$@" -o "$file" >"$place.log" 2>&1 && return 0
  echo "$lacking" >"$place.why"
  return 1
}
