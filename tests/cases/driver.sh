# What ./test makes of programs that misbehave: run-one on a folder of fakes.
fakes=$BUILD/fakes
rm -rf "$fakes"
mkdir -p "$fakes/logs"

fake() { # name, what it does; answers what was shown and the exit status
  printf '#!/bin/sh\n%s\n' "$2" >"$fakes/unit-$1"
  chmod +x "$fakes/unit-$1"
  shown=$(BUILD=$fakes TEST_KIND=plain tests/run-one "unit/$1" 2>&1)
  status=$?
}
expect() { # name, exit status, lines of FAIL in the log, what is shown
  fails=$(grep -c '^FAIL ' "$fakes/logs/unit.$1")
  if [ "$status" = "$2" ] && [ "$fails" = "$3" ] && printf '%s' "$shown" | grep -q "$4"; then
    echo "PASS $1"
  else
    printf '%s\n' "$shown"
    echo "FAIL $1: exit status $status, $fails FAIL lines, or nothing like '$4'"
  fi
}

# Arguments that cannot be meant.
for arguments in '--sim' '--sim x' '--sim 0' '--sim 1 --seed x' '--nonsense'; do
  # shellcheck disable=SC2086
  ./test $arguments >/dev/null 2>&1
  status=$?
  if [ $status = 2 ]; then echo "PASS arguments$(echo "$arguments" | tr -c 'a-z0-9\n' _)"
  else echo "FAIL arguments: ./test $arguments ends with $status"; fi
done

fake good 'echo PASS a; echo PASS b'
expect good 0 0 '2 passed  '
fake skips 'echo PASS a; echo SKIP "b: no device"'
expect skips 0 0 'SKIP b: no device'
fake skips_all 'echo "SKIP a: no device"'
expect skips_all 77 0 'SKIP a: no device'
fake fails 'echo PASS a; echo "FAIL b: why"; exit 1'
expect fails 1 1 'FAIL b: why'
fake fails_and_exits_0 'echo "FAIL b: why"'
expect fails_and_exits_0 1 1 '1 FAILED'
fake crashes_midway 'echo PASS a; kill -SEGV $$'
expect crashes_midway 1 1 'exit status 139'
fake says_nothing 'exit 0'
expect says_nothing 1 1 'printed no result'
fake noise_only 'echo all is well'
expect noise_only 1 1 'printed no result'
rm -f "$fakes/unit-absent"
shown=$(BUILD=$fakes TEST_KIND=plain tests/run-one unit/absent 2>&1)
status=$?
expect absent 1 1 'exit status 127'

# Options count wherever they stand: what is asked for behind a name is not a name.
before=$(./test --asan --list unit/base) && after=$(./test unit/base --list --asan)
if [ -n "$before" ] && [ "$before" = "$after" ]; then echo "PASS options_behind_names"
else echo "FAIL options_behind_names: '$before' and '$after'"; fi
./test --list tidy --asan >"$fakes/listed" 2>&1
status=$?
if [ $status = 2 ] && grep -q 'no test is called' "$fakes/listed"; then echo "PASS no_tidy_under_asan"
else echo "FAIL no_tidy_under_asan: exit status $status: $(cat "$fakes/listed")"; fi

# Every line of tests/TIERS fits a test, and every test a line.
unfit=
names=$(scripts/list tests 2>"$fakes/listed" | cut -d ' ' -f 1)
for pattern in $(sed -n 's/^\([a-z].*\/[^ ]*\) .*/\1/p' tests/TIERS | tr '*' '%'); do
  echo "$names" | tr '\n' ' ' | grep -q "\(^\| \)$(echo "$pattern" | sed 's/%/[^ ]*/g') " || unfit="$unfit $pattern"
done
if [ -z "$unfit" ] && [ ! -s "$fakes/listed" ]; then echo "PASS tiers_of_all"
else echo "FAIL tiers_of_all:$unfit $(tr '\n' ' ' <"$fakes/listed")"; fi

# `meson test` knows what ./test runs.
meson test -C "$BUILD" --no-rebuild --list 2>/dev/null | sed 's,.* / ,,' | sort >"$fakes/by_meson"
./test --list | awk '$2 == "short" { print $1 }' | sort >"$fakes/by_test"
if [ -s "$fakes/by_test" ] && cmp -s "$fakes/by_meson" "$fakes/by_test"; then echo "PASS meson_knows_the_same"
else echo "FAIL meson_knows_the_same: $(diff "$fakes/by_meson" "$fakes/by_test" | grep '^[<>]' | tr '\n' ' ')"; fi
