# Planted bugs of the Vulkan layer (tests/vulkan/mutants, as tests/mutate reads them) are found, each by the check that it
# names. `found by` is one of
#   accuses KIND SEED [OPTION…]      explore accuses a correct program (vulkan-small KIND --correct)
#   misses KIND SEED [OPTION…]       explore does not see a planted mistake
#   audit KIND SEED                  audit's counts are not those that the program expects
#   calls MODE KIND ['WORDS']        vulkan-calls does not end well, or the report does not say WORDS; explore has --in-queue
#   explains KIND SEED               explain does not name what is never signalled
#   explains cycle-free KIND         explain calls something a cycle
: "${BUILD:?}" "${TIDEMARK:?}"
BUILD=$(cd "$BUILD" && pwd)
lavapipe=$(ls /usr/share/vulkan/icd.d/lvp_icd.*.json 2>/dev/null | head -n 1)
if [ ! -x "$BUILD/vulkan-small" ] || [ -z "$lavapipe" ]; then
  echo "SKIP vulkan_mutants: no Vulkan headers, or no software driver (mesa-vulkan-drivers)"
  exit 0
fi
export VK_ICD_FILENAMES="$lavapipe"
source=$PWD
work=$BUILD/vulkan_mutants
rm -rf "$work"
mkdir -p "$work/layer"
objects=$BUILD/layer/libVkLayer_tidemark.so.p

# Compiles the changed file, and links it with the objects of the layer that ships.
make_layer() { # mutant
  file=$(sed -n 's/^in layer\/\(.*\.c\)$/\1/p' "$1")
  tests/mutate "$1" "$work/$file" || return 1
  cc -std=c11 -D_GNU_SOURCE -O1 -fPIC -fvisibility=hidden -I"$source/include" -I"$source/src" -I"$source" -c -o "$work/mutant.o" \
    "$work/$file" || return 1
  others=$(ls "$objects"/*.o | grep -v "[_/]$file.o$")
  [ "$(echo "$others" | wc -l)" -lt "$(ls "$objects"/*.o | wc -l)" ] || { echo "$file is not of the layer"; return 1; }
  # shellcheck disable=SC2086
  cc -shared -Wl,-z,nodelete -Wl,--version-script="$source/layer/layer.map" -o "$work/layer/libVkLayer_tidemark.so" \
    $others "$work/mutant.o" "$BUILD/liblayer_readers.a" "$BUILD/libtidemark-lang.a" "$BUILD/libtidemark.a" -lpthread -luring -ldl
}

explore() { # options and program
  timeout 300 "$TIDEMARK" vulkan explore --seeds 8 --no-shrink --compare stdout --limit 10s "$@" >"$work/out" 2>&1
  status=$?
}

# 0: the check sees nothing wrong with the layer.
holds() {
  what=$1
  shift
  case $what in
    accuses)
      kind=$1 seed=$2
      shift 2
      explore "$@" -- "$BUILD/vulkan-small" "$kind" --seed "$seed" --correct
      [ $status = 0 ] || [ $status = 3 ] ;;
    misses)
      kind=$1 seed=$2
      shift 2
      explore "$@" -- "$BUILD/vulkan-small" "$kind" --seed "$seed"
      [ $status = 1 ] ;;
    audit)
      timeout 60 "$TIDEMARK" vulkan audit --json --report "$work/report" -- "$BUILD/vulkan-small" "$1" --seed "$2" --expect \
        >"$work/out" 2>"$work/expected"
      python3 -c 'import json, re, sys
counts = json.load(open(sys.argv[1]))["reports"][0]["counts"]
expected = dict(re.findall(r"(own|known|sibling|seen|needed) (\d+)", open(sys.argv[2]).read()))
assert expected
sys.exit(any(counts[name] != int(number) for name, number in expected.items()))' "$work/report" "$work/expected" ;;
    calls)
      if [ "$1" = explore ]; then
        explore --in-queue -- "$BUILD/vulkan-calls" "$2"
        [ $status = 0 ] || [ $status = 3 ]
      else
        timeout 60 "$TIDEMARK" vulkan "$1" -- "$BUILD/vulkan-calls" "$2" >"$work/out" 2>&1 && grep -q "${3-.}" "$work/out"
      fi ;;
    explains)
      if [ "$1" = cycle-free ]; then
        # The program runs for 400 ms, which begin later where the driver starts slowly.
        for limit in 150 450 750 1050 1350 1650 1950 2250 2550 2850; do
          timeout 60 "$TIDEMARK" vulkan explain --limit ${limit}ms -- "$BUILD/vulkan-calls" "$2" >"$work/out" 2>&1
          ! grep -q 'finding' "$work/out" || return 1
        done
      else
        timeout 60 "$TIDEMARK" vulkan explain --limit 2s -- "$BUILD/vulkan-small" "$1" --seed "$2" >"$work/out" 2>&1
        grep -q 'NO submission' "$work/out"
      fi ;;
    *) echo "no such check: $what" ;;
  esac
}

for mutant in tests/vulkan/mutants/*; do
  name=$(basename "$mutant")
  eval "set -- $(sed -n 's/^found by //p' "$mutant")"
  if ! make_layer "$mutant" >"$work/log" 2>&1; then
    echo "FAIL $name: $(tail -n 2 "$work/log" | tr '\n' ' ')"
    continue
  fi
  # The layer that ships must pass what the mutant does not.
  unset TIDEMARK_LAYER_PATH
  if ! holds "$@"; then
    echo "FAIL $name: the layer without the bug fails, too: $* ($(tail -n 2 "$work/out" | tr '\n' ' '))"
    continue
  fi
  export TIDEMARK_LAYER_PATH="$work/layer"
  if holds "$@"; then echo "FAIL $name: was not found by: $*"; else echo "PASS $name"; fi
done
