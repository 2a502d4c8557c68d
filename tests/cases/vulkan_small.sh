# tidemark vulkan on small programs with one planted mistake each (tests/vulkan): explore, explain and
# audit find and name every mistake, and never accuse a correct twin.
#
# VULKAN_SMALL_SEEDS: the seeds of the programs; else fixed ones and one drawn anew. From ./test --ci on the fixed
# ones have all variants of the mistakes; under a sanitizer, which looks for other things, in ./test --all.
# VULKAN_SMALL_ORDERS: the orders that explore runs.
: "${BUILD:?}" "${TIDEMARK:?}"
# shellcheck source=tests/wait.sh
. tests/wait.sh
BUILD=$(cd "$BUILD" && pwd)
small=$BUILD/vulkan-small
work=$BUILD/vulkan_small
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

drawn=$(($(date +%s) % 100000 + 100))
case ${TEST_TIER-short}:${TEST_KIND-plain} in all:* | ci:plain) fixed='1 2 3 4 5' ;; *) fixed=2 ;; esac
: "${VULKAN_SMALL_SEEDS:=$fixed $drawn}" "${VULKAN_SMALL_ORDERS:=8}"
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # those of the driver, too, would be told
# For checks that every mistake has already gone through once: two of the seeds.
few="${VULKAN_SMALL_SEEDS%% *} ${VULKAN_SMALL_SEEDS##* }"
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$work}"

lavapipe=$(ls /usr/share/vulkan/icd.d/lvp_icd.*.json 2>/dev/null | head -n 1)
if [ -z "${VK_ICD_FILENAMES-}" ] && [ -n "$lavapipe" ]; then export VK_ICD_FILENAMES=$lavapipe; fi
if [ ! -x "$small" ]; then
  echo "SKIP vulkan_small: vulkan-small was not built: the Vulkan headers or loader are missing"
  exit 0
fi
if ! timeout 60 "$small" clean >out 2>err; then
  echo "SKIP vulkan_small: no Vulkan driver: $(head -c 200 err)"
  exit 0
fi
echo "seeds: $VULKAN_SMALL_SEEDS (VULKAN_SMALL_SEEDS repeats them)"

# Results of one kind are gathered over the seeds; one line is printed for each kind.
problem=
fail() { [ -n "$problem" ] || problem=$1; }
conclude() { # name
  if [ -z "$problem" ]; then echo "PASS $1"; else echo "FAIL $1: $problem"; fi
  problem=
}
excerpt() { head -c 600 "$1" | tr '\n' ' '; }

# The value of a line "expect: KEY VALUE" of the program.
expected() { sed -n "s/^expect: $1 //p" truth | head -n 1; }

# Runs the program itself. Leaves its output in `out` and the ground truth in `truth`.
run_plain() { # limit, arguments of the program
  limit=$1
  shift
  timeout "$limit" "$small" "$@" --expect >out 2>truth
}

# Runs the program under the tool. Leaves its report in `report`.
run_tool() { # words of the tool, then --, then arguments of the program
  words=
  while [ "$1" != -- ]; do
    words="$words $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  timeout 300 "$TIDEMARK" vulkan $words -- "$small" "$@" >report 2>&1
}

# On a plain driver the mistake has the output of the twin, which is right.
check_plain() { # kind, seed
  run_plain 60 "$1" --seed "$2" --correct || fail "seed $2: the twin fails without the tool: $(excerpt truth)"
  mv out twin
  run_plain 60 "$1" --seed "$2" || fail "seed $2: fails without the tool: $(excerpt truth)"
  cmp -s out twin || unusual="$unusual $2"
}

# Is the twin accused by explore? Statuses: 0 nothing found, 3 nothing to choose.
check_twin() { # kind, seed, words of explore
  kind=$1 seed=$2
  shift 2
  run_tool explore --seeds "$twin_orders" --compare stdout --limit 60s "$@" -- "$kind" --seed "$seed" --correct
  status=$?
  case $status in 0 | 3) ;; *) fail "seed $seed, twin: exit status $status: $(excerpt report)" ;; esac
  if grep -q '^finding' report; then fail "seed $seed: the twin is accused: $(grep -m 1 '^finding' report)"; fi
}

check_mistake() { # kind, seed, words of explore
  kind=$1 seed=$2
  shift 2
  run_tool explore --seeds "$VULKAN_SMALL_ORDERS" --compare stdout --limit 60s "$@" -- "$kind" --seed "$seed"
  status=$?
  [ $status = 1 ] || fail "seed $seed ($(tr '\n' ';' <truth)): exit status $status: $(excerpt report)"
}

names() { # seed, pattern
  grep -Eq "$2" report || fail "seed $1 ($(tr '\n' ';' <truth)): the report does not name '$2': $(excerpt report)"
}

# What the report has to name, beyond the exit status.
check_named() { # kind, seed
  case $1 in
    forgotten-wait | wrong-value | own-queue) names "$2" 'submissions [0-9]+ and [0-9]+ had to change places|picks fail' ;;
    host-write) names "$2" 'differs from byte' ;;
    value-backwards) names "$2" "^finding, value-backwards: .*shared.progress" ;;
    early-destroy)
      case $(expected variant) in
        buffer) names "$2" 'differs from byte|^finding, destroyed-in-use' ;;
        *) names "$2" '^finding, destroyed-in-use' ;;
      esac
      ;;
    ownership)
      case $(expected variant) in
        unordered) names "$2" 'differs from byte|^finding, ownership' ;;
        *) names "$2" '^finding, ownership' ;;
      esac
      ;;
  esac
}

# ---- explore ---------------------------------------------------------------------------

explore_kind() { # kind, words of explore
  kind=$1
  shift
  for seed in $VULKAN_SMALL_SEEDS; do
    check_plain "$kind" "$seed"
    check_mistake "$kind" "$seed" "$@"
    check_named "$kind" "$seed"
    check_twin "$kind" "$seed" "$@"
  done
  conclude "explore_$kind"
}

unusual="" twin_orders=$VULKAN_SMALL_ORDERS
explore_kind forgotten-wait
explore_kind wrong-value
explore_kind early-destroy
explore_kind host-write
explore_kind value-backwards
explore_kind ownership --families
# A batch can only overtake a neighbour in every second order.
explore_kind own-queue --in-queue --seeds 20

# Two queues of one family are not in order; one queue is: only --in-queue finds own-queue.
for seed in $VULKAN_SMALL_SEEDS; do
  run_tool explore --seeds "$VULKAN_SMALL_ORDERS" --compare stdout --limit 60s -- own-queue --seed "$seed"
  status=$?
  case $status in 0 | 3) ;; *) fail "seed $seed: exit status $status: $(excerpt report)" ;; esac
done
conclude explore_own-queue_needs_in-queue

# Nothing to find, however the order is changed.
for kind in clean redundant wrong-stage; do
  for seed in $few; do
    for words in "" --families --in-queue; do
      # shellcheck disable=SC2086
      run_tool explore --seeds 4 --compare stdout --limit 30s $words -- $kind --seed "$seed"
      status=$?
      case $status in 0 | 3) ;; *) fail "seed $seed $words: exit status $status: $(excerpt report)" ;; esac
    done
  done
  conclude "explore_$kind"
done

# The mistakes' twins under the options that did not find them.
twin_orders=3
for kind in forgotten-wait wrong-value early-destroy host-write value-backwards; do
  for seed in $few; do
    check_twin "$kind" "$seed" --in-queue
    check_twin "$kind" "$seed" --families
  done
done
for seed in $few; do
  check_twin ownership "$seed" --families --in-queue
  check_twin own-queue "$seed"
done
conclude explore_twins

# The same seed is the same run.
for seed in $few; do
  run_tool explore --seeds 2 --no-shrink --compare stdout --limit 60s -- forgotten-wait --seed "$seed"
  grep '^seed' report >first
  run_tool explore --seeds 2 --no-shrink --compare stdout --limit 60s -- forgotten-wait --seed "$seed"
  grep '^seed' report >second
  cmp -s first second || fail "seed $seed: $(excerpt first) is not $(excerpt second)"
done
conclude explore_repeats

# ---- explain ---------------------------------------------------------------------------

# Any of the semaphores that the mistake is about.
any_semaphore() { sed -n "s/^expect: semaphore //p" truth | paste -sd '|' -; }

names_hang() { # kind, seed
  names "$2" "'($(any_semaphore))'"
  case $1 in
    never-signalled)
      names "$2" "NO submission and no thread signals a value >= $(expected value) "
      names "$2" "verdict:? it cannot go on before something signals .* >= $(expected value), and nothing is there that will$" ;;
    *)
      names "$2" 'CYCLE: '
      names "$2" 'verdict:? it hangs: submissions wait for each other in a cycle$' ;;
  esac
}

explain_hang() { # kind, seed
  for seconds in 0.5 5 50; do # a busy machine may need longer to say what it expects
    run_plain $seconds "$1" --seed "$2"
    status=$?
    if [ $status != 124 ] || [ -s truth ]; then break; fi
  done
  [ $status = 124 ] || fail "seed $2: does not hang without the tool: $(excerpt truth)"
  for seconds in 1500ms 15s 150s; do # the same here: until it hangs
    run_tool explain --limit $seconds -- "$1" --seed "$2"
    status=$?
    if grep -q 'CYCLE: \|NO submission' report; then break; fi
  done
  [ $status = 1 ] || fail "seed $2: exit status $status: $(excerpt report)"
  names_hang "$1" "$2"
}

explain_twin() { # kind, seed
  run_tool explain --limit 20s -- "$1" --seed "$2" --correct
  status=$?
  [ $status = 0 ] || fail "seed $2, twin: exit status $status: $(excerpt report)"
  if grep -q 'finding' report; then fail "seed $2: the twin is accused: $(grep -m 1 'finding' report)"; fi
  grep -q '^  verdict: it came to its end: nothing hangs$' report || fail "seed $2, twin: no verdict: $(excerpt report)"
}

for kind in cycle same-queue never-signalled; do
  for seed in $VULKAN_SMALL_SEEDS; do
    explain_hang "$kind" "$seed"
    explain_twin "$kind" "$seed"
    check_twin "$kind" "$seed"
  done
  conclude "explain_$kind"
done

# Runs the layer without the tool, as layer/protocol.h says. Its reports go to reports/.
run_layer() { # command that starts the program, options of the layer, arguments of the program
  starter=$1 options=$2
  shift 2
  rm -rf reports
  mkdir reports
  # shellcheck disable=SC2086
  VK_LAYER_PATH=$BUILD/layer VK_INSTANCE_LAYERS=VK_LAYER_TIDEMARK_causality TIDEMARK_VULKAN=$options \
    TIDEMARK_VULKAN_DIRECTORY=$PWD/reports $starter "$small" "$@" --expect >out 2>truth
}

# The same on queues of their own, where a cycle has several of them.
for kind in cycle same-queue never-signalled; do
  for seed in $few; do
    for seconds in 1 10 100; do # the same here: until it hangs
      run_layer "timeout -s QUIT -k 10 $seconds" explore,queues=4,seed=1 "$kind" --seed "$seed"
      cat reports/*.report >report 2>/dev/null
      if grep -q 'CYCLE: \|NO submission' report; then break; fi
    done
    names_hang "$kind" "$seed"
    [ $kind = cycle ] || continue
    # The report follows the cycle once around.
    for semaphore in $(sed -n 's/^expect: semaphore //p' truth); do names "$seed" "'$semaphore'"; done
  done
done
conclude explain_hangs_of_several_queues

# ---- audit -----------------------------------------------------------------------------

count_of() { # class: the sum over the reports of the layer
  cat reports/*.report 2>/dev/null | awk -v name="$1" '$1 == "count" && $2 == name {n += $3} END {print n + 0}'
}

compare_counts() { # seed, what
  for class in seen known own sibling needed; do
    [ "$(count_of $class)" = "$(expected $class)" ] ||
      fail "seed $1, $2: $class: $(count_of $class) waits, not $(expected $class)"
  done
}

for seed in $VULKAN_SMALL_SEEDS 11 12 13 14 15 16 17 18; do
  run_layer "timeout 60" audit redundant --seed "$seed" || fail "seed $seed: $(excerpt truth)"
  compare_counts "$seed" audit
  for options in explore,seed=1 explore,seed=1,queues=4 explore,seed=1,families explore,seed=2,queues=2; do
    run_layer "timeout 60" $options redundant --seed "$seed" || fail "seed $seed: $(excerpt truth)"
    compare_counts "$seed" "$options"
  done
done
conclude audit_counts

# The report begins with what the counts come to, and says what each class means.
for seed in $few; do
  run_tool audit -- redundant --seed "$seed"
  run_plain 60 redundant --seed "$seed"
  go=$(($(expected seen) + $(expected known) + $(expected sibling))) own=$(expected own) needed=$(expected needed)
  sed -n '/^tidemark vulkan audit/{n;p;}' report |
    grep -Eq "^  verdict: of $((go + own + needed)) waits, $go could go, $own could be barriers instead, $needed (is|are) needed$" ||
    fail "seed $seed: no verdict: $(excerpt report)"
  for class in seen known own sibling needed; do
    if [ "$(expected $class)" = 0 ]; then ! grep -q "^  $class means " report || fail "seed $seed: there is no $class wait"
    else names "$seed" "^  $class means that "; fi
  done
done
conclude audit_verdict

# Every planted mistake keeps its output on a plain driver, at least mostly: that is why it is missed.
# shellcheck disable=SC2086
set -- $unusual
if [ $# -gt 4 ]; then fail "the mistakes show without the tool: seeds $unusual"; fi
conclude plain_driver_hides_mistakes
