# The PTX that is checked in is what the kernels' source gives, and it assembles: neither needs a GPU.
: "${BUILD:?}"
ptx=benchmarks/patterns/gpu/kernels.ptx
work=$BUILD/ptx
rm -rf "$work"
mkdir -p "$work"

if ! command -v clang-19 >/dev/null; then echo "SKIP same: there is no clang-19"
elif ! scripts/ptx "$work/kernels.ptx" 2>"$work/said"; then echo "FAIL same: $(head -n 3 "$work/said" | tr '\n' '|')"
elif cmp -s "$ptx" "$work/kernels.ptx"; then echo "PASS same"
elif ! clang-19 --version | grep -q '19\.1\.7'; then echo "SKIP same: $(clang-19 --version | head -n 1) is not the one it was made with"
else echo "FAIL same: run scripts/ptx $ptx"; fi

# Products and sums must stay apart, or the numbers differ from the host's.
if grep -Eq 'fma\.|mad\.[a-z]*\.?f32|(add|mul|sub)\.f32' "$ptx"; then echo "FAIL rounding: $(grep -Em 1 'fma\.|(add|mul|sub)\.f32' "$ptx")"
else echo "PASS rounding"; fi
# Data that the host writes must not come from a cache that nobody tells.
if grep -q 'ld\.global\.nc' "$ptx"; then echo "FAIL no_stale_loads: it has ld.global.nc"; else echo "PASS no_stale_loads"; fi

ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)
for target in sm_90 sm_90a; do
  if [ -z "$ptxas" ]; then echo "SKIP assembles_$target: there is no ptxas"
  elif "$ptxas" -arch=$target "$ptx" -o "$work/$target.cubin" >"$work/said" 2>&1; then echo "PASS assembles_$target"
  else echo "FAIL assembles_$target: $(head -n 3 "$work/said" | tr '\n' '|')"; fi
done
# What gpu.c reckons with when it says how many blocks fit: registers of a thread.
if [ -n "$ptxas" ]; then
  registers=$("$ptxas" -v -arch=sm_90 "$ptx" -o "$work/r.cubin" 2>&1 | sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' | sort -n | tail -n 1)
  most=$(sed -n 's/^#define REGISTERS \([0-9]*\).*/\1/p' benchmarks/patterns/gpu.c)
  if [ "$registers" -le "$most" ]; then echo "PASS registers"; else echo "FAIL registers: $registers, and gpu.c reckons with $most"; fi
else echo "SKIP registers: there is no ptxas"; fi
