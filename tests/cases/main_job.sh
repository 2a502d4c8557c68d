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
turns() { # BY_HAND PAIRS
  mkdir -p compared
  "$programs/turns" "$TIDEMARK" "$source/examples/satellite.tide" "$1" out/terrain-96x64.raw compared 96 64 "$2" >said 2>&1
}
# The time allows fewer pairs on a slow machine: the page's table has the form of any number of them.
sed -n '/^  whole processes /,/^    the ratio /p' "$source/docs/performance.md" >shown
for pairs in 1 2 3 4 5 7; do
  turns "$programs/by_pthread" $pairs
  status=$?
  made=$(sed -n 's/.*(pairs in turns: \([1-9][0-9]*\);.*/\1/p' said)
  case $made in 1) sure=50 ;; 2) sure=75 ;; 3) sure=87 ;; 4) sure=93 ;; *) sure=95 ;; esac
  if [ $status != 0 ]; then why="it fails: $(tr '\n' '|' <said)"
  elif ! why=$(awk -v vary=1 -f "$source/tests/docs/compare.awk" shown said); then why="docs/performance.md $why"
  elif [ "${made:-99}" -gt $pairs ]; then why="more than $pairs pairs: $(tail -n 1 said)"
  elif ! grep -q "with $sure %  (pairs in turns: $made;" said; then why="not $sure %: $(tail -n 1 said)"
  elif [ -n "$(ls compared)" ]; then why="left: $(ls compared)"
  else why=; fi
  if [ -z "$why" ]; then echo "PASS turns_$pairs"; else echo "FAIL turns_$pairs: $why"; fi
done

# One byte more is another output.
cat >longer <<END
#!/bin/sh
"$programs/by_pthread" "\$@" && echo >>"\$2/digests.bin"
END
chmod +x longer
if turns ./longer 1; then echo "FAIL turns_compare: $(tr '\n' '|' <said)"
else echo "PASS turns_compare"; fi
