# The main job written by hand (benchmarks/main_job): the same bytes as the program's, and the table that ./run prints.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/main_job_case
source=$PWD
programs=$BUILD/main_job
rm -rf "$work"
mkdir -p "$work"
benchmarks/main_job/build "$BUILD"
cd "$work" || exit 1

same_outputs() { # NAME WIDTH HEIGHT
  mkdir -p "$1"
  if ! "$programs/$1" "out/terrain-$2x$3.raw" "$1" "$2" "$3" >said 2>&1; then
    echo "FAIL $1_$2x$3: $(head -c 500 said)"
    return
  fi
  for file in blurred.raw preview.png digests.bin; do
    cmp "$1/$file" "right/$file" >said 2>&1 && continue
    echo "FAIL $1_$2x$3: $(cat said)"
    return
  done
  echo "PASS $1_$2x$3"
}

# More strips than threads; a last strip of few lines; one strip alone.
for size in 1024x2048 1000x700 96x64; do
  width=${size%x*} height=${size#*x}
  "$TIDEMARK" run "$source/examples/satellite.tide" --check --set width="$width" --set height="$height" \
    --set output=right >said 2>&1 || echo "FAIL program_$size: $(head -c 500 said)"
  for name in by_pthread by_mmap by_onetbb; do
    if [ -f "$programs/$name.why" ]; then echo "SKIP ${name}_$size: $(cat "$programs/$name.why")"
    else same_outputs $name "$width" "$height"; fi
  done
done

if "$programs/by_pthread" missing.raw . 96 64 >said 2>&1; then echo "FAIL no_input: it succeeded"
else echo "PASS no_input"; fi

if [ -f "$programs/turns.why" ]; then echo "FAIL turns: $(cat "$programs/turns.log")"; exit; fi
turns() { # BY_HAND
  mkdir -p compared
  "$programs/turns" "$TIDEMARK" "$source/examples/satellite.tide" "$1" out/terrain-96x64.raw compared 96 64 >said 2>&1
}
if turns "$programs/by_pthread" && grep -q '^    tidemark run .* ms .* MiB$' said && grep -q '^    by hand .* MiB$' said &&
  grep -q '^    the ratio  *[0-9.]*, at most [0-9.]* with 95 % .*the same bytes' said &&
  [ -z "$(ls compared)" ]; then echo "PASS turns"
else echo "FAIL turns: $(tr '\n' '|' <said)"; fi

# One byte more is another output.
cat >longer <<END
#!/bin/sh
"$programs/by_pthread" "\$@" && echo >>"\$2/digests.bin"
END
chmod +x longer
if turns ./longer; then echo "FAIL turns_compare: $(tr '\n' '|' <said)"
else echo "PASS turns_compare"; fi
