# The SPIR-V that is checked in is what the shaders' source gives, and it is valid: neither needs a GPU.
: "${BUILD:?}"
folders='lang/kernel/shaders benchmarks/driver/shaders'
made_with='Glslang Version: 11:12.0.0'
work=$BUILD/shaders
rm -rf "$work"
mkdir -p "$work"

# Each array as the file it was made of.
for header in $(for folder in $folders; do echo "$folder"/*.h; done); do
  name=$(basename "$header" .h)
  if [ ! -f "${header%.h}.comp" ]; then echo "FAIL sources: $header has no $name.comp"; continue; fi
  grep -o '0x[0-9a-f]\{8\}' "$header" | sed 's/0x\(..\)\(..\)\(..\)\(..\)/\\x\4\\x\3\\x\2\\x\1/' | tr -d '\n' >"$work/bytes"
  # The format is the bytes.
  # shellcheck disable=SC2059
  env printf "$(cat "$work/bytes")" >"$work/$name.kept"
done

compile() { for folder in $folders; do scripts/shaders "$folder" "$work" 2>"$work/said" || return; done; }

if ! command -v glslangValidator >/dev/null; then echo "SKIP same: there is no glslangValidator"
elif ! compile; then echo "FAIL same: $(head -n 3 "$work/said" | tr '\n' '|')"
else
  different=
  for source in $(for folder in $folders; do echo "$folder"/*.comp; done); do
    name=$(basename "$source" .comp)
    cmp -s "${source%.comp}.h" "$work/$name.h" || different="$different $source"
  done
  if [ -z "$different" ]; then echo "PASS same"
  elif ! glslangValidator --version | grep -qF "$made_with"; then
    echo "SKIP same: $(glslangValidator --version | head -n 1) is not the one they were made with"
  else echo "FAIL same:$different: run scripts/shaders with its folder, twice"; fi
fi

if ! command -v spirv-val >/dev/null; then
  echo "SKIP valid: there is no spirv-val"
  echo "SKIP rounding: there is no spirv-dis"
  exit
fi
wrong=
for kept in "$work"/*.kept; do
  spirv-val --target-env vulkan1.1 "$kept" >"$work/said" 2>&1 || wrong="$wrong $(basename "$kept" .kept): $(head -n 1 "$work/said")"
done
if [ -z "$wrong" ]; then echo "PASS valid"; else echo "FAIL valid:$wrong"; fi

# Products and sums of floats must stay apart, or the numbers differ from the host's.
spirv-dis "$work/gemm.kept" >"$work/gemm.text"
awk '
  $1 == "OpDecorate" && $3 == "NoContraction" { apart[$2] = 1 }
  $3 ~ /^Op(F(Mul|Add|Sub|Negate|Div)|VectorTimesScalar|Dot)$/ { seen++; if (!apart[$1]) print $0 }
  /OpExtInst .* Fma / { print $0 }
  END { if (!seen) print "there is no arithmetic" }' "$work/gemm.text" >"$work/said"
if [ -s "$work/said" ]; then echo "FAIL rounding: $(head -n 1 "$work/said")"; else echo "PASS rounding"; fi
