# tidemark patterns: what it prints, for people and for programs; wrong usage.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/patterns
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2: $(tr '\n' '|' <said)"; }
# patterns STATUS OPTIONS…: what it says is in `said`; is that its exit status?
patterns() {
  want=$1
  shift
  timeout -k 5 400 "$TIDEMARK" patterns "$@" >said 2>&1
  status=$?
  [ $status = "$want" ]
}
fast='--produce 0 --work 0 --cycles 3 --consumers 4'
cores=$(nproc)

# ---- a line for each pattern and way, and each is right
ten='C_SRS C_CG C_FE C_H3D G_BFS G_BS G_C2D G_STN G_GEM G_KMN'
# shellcheck disable=SC2086
if patterns 0 $fast --shared && [ "$(grep -c ' ok$' said)" = 60 ]; then pass all; else fail all "exit status $status"; fi
good=yes
for name in $ten; do
  for way in spin yield futex monitor direct fibers; do grep -Eq "^$name +$way +[0-9.]+ .* ok$" said || good=no; done
done
if [ $good = yes ]; then pass names; else fail names "one is missing"; fi
# shellcheck disable=SC2086
if patterns 0 C_FE $fast --shared --way policies && [ "$(grep -c ' ok$' said)" = 5 ] &&
  patterns 0 C_FE $fast --shared --way all,spin && [ "$(grep -c ' ok$' said)" = 11 ]; then pass policies
else fail policies "exit status $status"; fi
if [ "$cores" -lt 2 ]; then echo "SKIP two_devices: one core"
elif patterns 0 C_SRS g_stn --consumers 4 --cycles 3 && [ "$(grep -c ' ok$' said)" = 12 ]; then pass two_devices
else fail two_devices "exit status $status"; fi
if [ "$cores" -lt 2 ]; then echo "SKIP one_core: one core"
elif taskset -c 0 true 2>/dev/null; then
  taskset -c 0 "$TIDEMARK" patterns G_KMN $fast >said 2>&1
  if [ $? = 1 ] && grep -q 'two devices need two cores' said; then pass one_core; else fail one_core "it ran"; fi
else echo "SKIP one_core: no taskset"; fi
# shellcheck disable=SC2086
if patterns 0 generator $fast --shared --way futex && [ "$(grep -c ' ok$' said)" = 16 ]; then pass generator
else fail generator "exit status $status"; fi
# shellcheck disable=SC2086
if patterns 0 generator $fast --shared --way futex --model multiple --access random --n0 5 --n1 1 &&
  [ "$(grep -c ' ok$' said)" = 1 ] && grep -q '^multiple, random:' said; then pass one_of_them
else fail one_of_them "exit status $status"; fi

# ---- a slice of one's own, or a kernel that has none and is said to
# shellcheck disable=SC2086
if patterns 0 G_STN $fast --shared --slice 500 || grep -q 'this kernel has no slices' said; then pass slice
else fail slice "exit status $status"; fi

# ---- a GPU's warps as consumers: over a driver that is none; a GPU that is not there is said
# shellcheck disable=SC2086
if patterns 0 --device cuda --driver "$BUILD/plugin-cuda.so" $fast && [ "$(grep -c ' ok$' said)" = 20 ] &&
  patterns 0 g_stn --device=cuda --driver "$BUILD/plugin-cuda.so" $fast --way parked,polled --json &&
  python3 -c 'import json; assert [l["way"] for l in json.load(open("said"))] == ["polled", "parked"]'; then pass cuda
else fail cuda "exit status $status"; fi
if patterns 0 --device cuda --driver /nowhere/libcuda.so.1 && grep -q '^SKIP: there is no GPU driver: /nowhere/' said; then pass no_gpu
else fail no_gpu "exit status $status"; fi
good=yes
for wrong in '--device cuda --way spin' '--way parked' '--device cuda C_FE' '--device none'; do
  # shellcheck disable=SC2086
  patterns 2 $wrong && grep -q '^tidemark patterns: .*; see tidemark patterns --help$' said || { good=no; break; }
done
if [ $good = yes ]; then pass wrong_device; else fail wrong_device "$wrong, exit status $status"; fi

# ---- numbers for programs
# shellcheck disable=SC2086
if patterns 0 C_CG G_BFS generator $fast --shared --json && python3 -c '
import json
lines = json.load(open("said"))
assert len(lines) == 2 * 6 + 16 * 6
for line in lines:
    assert line["good"] and line["ns"] > 0 and line["consumers"] == 4 and line["cycles"] == 3, line
    assert not line["pinned"] and 0 <= line["waited"] <= 1 and line["messages"] > 0, line
spins = [line for line in lines if line["way"] == "spin"]
assert all(line["over_spin"] == 1 for line in spins)
assert {line["pattern"]: (line["model"], line["access"]) for line in lines[:12]} == {
    "C_CG": ("alternating", "random"), "G_BFS": ("probabilistic", "random")}
assert len({(line["model"], line["access"]) for line in lines[12:]}) == 16
'; then pass json; else fail json "exit status $status"; fi
# shellcheck disable=SC2086
if patterns 0 C_SRS $fast --shared --way futex --json && python3 -c '
import json
(line,) = json.load(open("said"))
assert line["over_spin"] is None and line["messages"] == 12
'; then pass json_without_spin; else fail json_without_spin "exit status $status"; fi

# ---- a list; help; wrong usage
if patterns 0 --list && [ "$(grep -Ec '^[CG]_' said)" = 10 ] && grep -q '^futex' said; then pass list; else fail list "exit status $status"; fi
if patterns 0 --help && grep -q '^usage: tidemark patterns' said; then pass help; else fail help "exit status $status"; fi
good=yes
for wrong in C_NONE --way=none --way=spin, --way= --consumers=0 --consumers=5000 --produce=x --work=-1 --message=5000 --message=0 \
  --cycles=1 --limit=0 --slice=5 --seed=-1 --n0=65 --xi=2 --xi=nan --model=none --access=none --nothing --json=yes --consumers; do
  patterns 2 "$wrong" && grep -q '^tidemark patterns: .*; see tidemark patterns --help$' said || { good=no; break; }
done
if [ $good = yes ]; then pass wrong_usage; else fail wrong_usage "$wrong, exit status $status"; fi
