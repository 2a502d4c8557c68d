# tidemark sim: what it prints, which is the same on every machine, and what it refuses.
# To write the expected outputs anew: UPDATE=1 TIDEMARK=… BUILD=… sh THIS.
: "${BUILD:?}" "${TIDEMARK:?}"
source=$PWD
work=$BUILD/sim
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

# expected NAME PROGRAM [ARGUMENTS]: twice the same, and what tests/expected/sim/NAME.txt says.
expected() {
  name=$1 program=$2
  shift 2
  if ! timeout 120 "$TIDEMARK" sim "$source/examples/$program.tide" "$@" >said 2>err; then
    echo "FAIL $name: $(head -c 500 err)"
    return
  fi
  timeout 120 "$TIDEMARK" sim "$source/examples/$program.tide" "$@" >again 2>err
  if ! cmp -s said again; then
    echo "FAIL $name: another run prints something else"
    return
  fi
  sed -e 1d -e '/^  "program": /d' said >told # where it is
  if [ -n "${UPDATE-}" ]; then cp told "$source/tests/expected/sim/$name.txt"; fi
  if diff "$source/tests/expected/sim/$name.txt" told >diff; then echo "PASS $name"
  else echo "FAIL $name: $(tr '\n' '|' <diff)"; fi
}

for program in "$source"/examples/*.tide; do
  expected "$(basename "$program" .tide)" "$(basename "$program" .tide)" --stats
done
# Programs for simulations only.
for program in "$source"/examples/sim/*.tide; do
  expected "$(basename "$program" .tide)" "sim/$(basename "$program" .tide)" --baseline host --stats
done
expected ahead_long sim/ahead_pays --baseline host --set body=500
expected ahead_look sim/ahead_idle --baseline host --set look=8
expected ahead_json sim/ahead_pays --baseline host --json
expected ahead_costs sim/ahead_pays --baseline none --submit-cost 1us --native-wait 100ns --round-trip 100us
expected ahead_host sim/ahead_pays --keep host --baseline barrier
expected paging_limit paging --memory 257K --stats
expected scratch_limit scratch --memory 321K --stats
expected spread satellite --seed 7 --spread exponential --wait-cost 1us --latency device=20us --wake 25us --path \
  --set width=1000 --set height=700
expected links voice_chat --link mic:asr=3ms --link llm:speaker=1ms --workers 2 --path
expected barrier diamond --baseline barrier --step-cost 500ns --cost 3us/KiB=1us
expected sweep fleet --sweep devices=1..600 --against together=0 --set operations=2000 --frontier 16 --quiet-time
expected json voice_chat --json

# Another seed, other times; the same seed, the same.
"$TIDEMARK" sim "$source/examples/satellite.tide" --spread uniform --seed 1 --baseline none | sed 2d >one
"$TIDEMARK" sim "$source/examples/satellite.tide" --spread uniform --seed 2 --baseline none | sed 2d >two
if cmp -s one two; then echo "FAIL seeds: both print the same"; else echo "PASS seeds"; fi

if "$TIDEMARK" sim "$source/examples/satellite.tide" --json | python3 -m json.tool >parsed 2>err &&
  "$TIDEMARK" sim "$source/examples/fleet.tide" --sweep devices=1..8 --json | python3 -m json.tool >parsed 2>err
then echo "PASS json_parses"; else echo "FAIL json_parses: $(head -c 300 err)"; fi

if "$TIDEMARK" sim "$source/examples/fleet.tide" --sweep devices=1..64 --against together=0 --plot plot.svg >said 2>err &&
  python3 -c 'import xml.dom.minidom as x; d = x.parse("plot.svg"); assert len(d.getElementsByTagName("polyline")) == 8' 2>err
then echo "PASS plot"; else echo "FAIL plot: $(tail -c 300 err)"; fi

# refused NAME STATUS PATTERN ARGUMENTS
refused() {
  name=$1 want=$2 pattern=$3
  shift 3
  timeout 60 "$TIDEMARK" sim "$@" >said 2>err
  status=$?
  if [ $status != "$want" ]; then echo "FAIL $name: exit status $status: $(head -c 300 err)"
  elif ! grep -Eq -e "$pattern" err; then echo "FAIL $name: it said: $(head -c 300 err)"
  else echo "PASS $name"; fi
}

hello=$source/examples/hello.tide
refused no_program 2 'which program' --seed 1
refused two_programs 2 "one program, not" "$hello" "$hello"
refused no_option 2 'there is no option --sed' --sed 1 "$hello"
refused bad_time 2 '--wake 5: expected a time' --wake 5 "$hello"
refused bad_cost 2 '--cost 1us/KiB=x: expected' --cost 1us/KiB=x "$hello"
refused bad_latency 2 '--latency far=1us: expected' --latency far=1us "$hello"
refused bad_link 2 '--link a-b=1us: expected' --link a-b=1us "$hello"
refused bad_spread 2 'expected uniform or exponential' --spread wide "$hello"
refused bad_baseline 2 'expected events, barrier, host or none' --baseline graph "$hello"
refused bad_workers 2 'expected 1 to 65536' --workers 0 "$hello"
refused huge_time 2 'expected a time' --wake 99999999999999s "$hello"
refused plot_alone 2 'go with --sweep' --plot x.svg "$hello"
refused no_such_link 1 "a link names device 'moon'" --link moon:cpu0=1us "$hello"
refused no_such_file 1 'nowhere.tide: No such file' nowhere.tide
refused bad_sweep 1 'expected NAME=FROM..TO' --sweep size "$hello"
refused unknown_sweep 1 'of a numeric parameter' --sweep size=1..2 "$hello"
refused backward_sweep 1 'expected NAME=FROM..TO' --sweep devices=4..1 "$source/examples/fleet.tide"
refused bad_against 1 'expected NAME=VALUE' --sweep devices=1..2 --against gather=1 "$source/examples/fleet.tide"
refused all_fail 1 'fleet.tide:[0-9]*:[0-9]*: operation failed' --fail 1000000 "$source/examples/fleet.tide"
printf 'device d sim workers 2 machine 1\ndevice e tpu\nqueue q on d\nqueue r on e\nq: nop\n' >kinds.tide
refused unknown_kind 1 "kinds.tide:2:10: there is no device kind 'tpu'; expected one of: cpu, file, sim, gpu" kinds.tide
printf 'device d file workers 2\nqueue q on d\nq: nop\n' >option.tide
refused unknown_option 1 "option.tide:1:15: .*no option 'workers'; expected depth, threads or machine" option.tide
refused bad_keep 2 '--keep cpu: expected device or host' --keep cpu "$hello"
refused bad_round_trip 2 '--round-trip 5: expected a time' --round-trip 5 "$hello"
printf 'device d gpu depth 2\nqueue q on d\nq: nop\n' >gpu.tide
refused unknown_gpu_option 1 "gpu.tide:1:14: .*no option 'depth'; expected ahead, queues, workers or machine" gpu.tide
printf 'device d gpu queues 9\nqueue q on d\nq: nop\n' >queues.tide
refused too_many_hardware_queues 1 "option 'queues' is too large; expected 1 to 8" queues.tide
printf 'device d gpu\ndevice e cpu\nqueue q on d\nqueue r on e\nbuffer m 64K\nbuffer n 8\ntimeline t\nr: fill m  signal t = 1\nq: hash m, n  take m\n' >take.tide
refused no_take 1 "take.tide:9:1: .*queue 'q' cannot take: only a thread can stall" take.tide
printf 'device d vulkan\nqueue q on d\nbuffer b 8\nq: iota b\n' >body.tide
refused no_such_commands 1 "body.tide:4:1: device 'd' cannot do 'iota'" body.tide
printf 'device d, e vulkan\nqueue q on d\nqueue r on e\nbuffer b 8\nq: fill b\nr: nop\n' >memories.tide
refused two_memories 1 "memories.tide:1:1: device 'e' .vulkan.: another device's memory holds the buffers" memories.tide
printf 'device d cpu workers 70000\nqueue q on d\nq: nop\n' >many.tide
refused too_many_workers 1 "option 'workers' is too large; expected 1 to 65536" many.tide
printf 'device d cpu\nqueue q on d capacity 1\ntimeline t\nq: nop wait t >= 1 passable\nq: nop\nq: nop signal t = 1\n' >full.tide
refused deadlock 1 "full.tide:[0-9]*:[0-9]*: queue 'q' is full" full.tide

printf 'device d sim\nqueue q on d\nq: nop cost 9000000000s\nq: nop cost 9000000000s\nq: nop cost 9000000000s\n' >long.tide
refused too_long 1 'longer than 146 years' long.tide
printf 'device d, e sim\nqueue q on d\nqueue r on e\ntimeline t\nq: nop signal t = 1 cost 1s\nr: nop wait t >= 1 cost 1s\n' >far.tide
refused too_far 1 'longer than 146 years' --latency device=4000000000s --link d:e=4000000000s far.tide
refused waits_too_long 1 'longer than 146 years' --wait-cost 4600000000s --wake 4600000000s far.tide

# Neither files nor memory are needed, and a program for simulations only is one.
printf 'param n = 3\ndevice d[n] sim machine 1\nqueue q[n] on d\nbuffer b[n] 1G\nfor i in 0..n {\n  q[i]: fill b[i]  cost 1s\n}\n' >large.tide
if "$TIDEMARK" sim large.tide >said 2>err && grep -q 'makespan *1.0000 s *1.0000 s' said
then echo "PASS no_memory_is_taken"; else echo "FAIL no_memory_is_taken: $(cat err said | head -c 400)"; fi
