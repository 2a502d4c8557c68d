# The command line itself: help, hints for mistyped words, standard input, files that options name, numbers of one.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/command_line
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; }

cat >one.tide <<'E'
device c cpu
queue q on c
buffer b 64
q: fill b, 1
E

# says NAME STATUS PATTERN ARGUMENTS…: the exit status, and a line of either output.
says() {
  name=$1 want=$2 pattern=$3
  shift 3
  timeout 60 "$TIDEMARK" "$@" >out 2>err </dev/null
  status=$?
  if [ $status = "$want" ] && cat out err | grep -Eq -e "$pattern"; then pass "$name"
  else fail "$name" "exit status $status, no '$pattern' in: $(cat out err | head -n 5)"; fi
}

# ---- help: the same by both ways, and each text ends its last line
commands='run sim explain view fmt generate demo patterns serve mods vulkan top'
for words in $commands 'demo compositor' 'mods check' 'mods opt' 'mods lower' 'mods run' 'vulkan explain' 'vulkan explore' 'vulkan audit'; do
  name=help_$(echo "$words" | tr ' ' _)
  # shellcheck disable=SC2086
  "$TIDEMARK" $words --help >way 2>err || fail "$name" "--help fails"
  # shellcheck disable=SC2086
  if ! "$TIDEMARK" help $words >other 2>err; then fail "$name" "$(cat err)"
  elif ! cmp -s way other; then fail "$name" "'help $words' and '$words --help' differ"
  elif [ -n "$(tail -c 1 way)" ]; then fail "$name" "the last line does not end: $(tail -n 1 way)"
  elif [ -z "$(tail -n 1 way)" ]; then fail "$name" "it ends with an empty line"
  else pass "$name"; fi
done
says help_nothing 2 "there is no command 'bogus'; expected one of" help bogus
says help_option 2 "unexpected '--set'; expected a command" help run --set
says help_subcommand 2 "there is no command 'bogus'; see tidemark vulkan --help" help vulkan bogus

# ---- hints
says hint_command 2 "there is no command 'explane' \(did you mean explain\?\)" explane
says hint_subcommand 2 "there is no command 'adit' \(did you mean audit\?\)" vulkan adit
says hint_option 2 'there is no option --chek \(did you mean --check\?\); see tidemark run --help' run --chek one.tide
says hint_dashes 2 'there is no option -check \(did you mean --check\?\)' run -check one.tide
says hint_value 2 'there is no option --baselin \(did you mean --baseline\?\)' sim --baselin=host one.tide
says hint_patterns 2 'there is no option --consumer \(did you mean --consumers\?\); see tidemark patterns --help' patterns --consumer=4
says hint_demo 2 'there is no option -frame \(did you mean --frames\?\); see tidemark demo compositor --help' demo compositor -frame 4
says flag_patterns 2 'tidemark patterns: --json takes no value; see' patterns --json=yes
says flag_demo 2 'tidemark demo compositor: --check takes no value; see' demo compositor --check=yes
says no_hint 2 'there is no option --xylophone; see tidemark run --help' run --xylophone one.tide
sed 's/fill/fil/' one.tide >mistyped.tide
for command in run explain sim; do
  says hint_body_$command 1 "mistyped.tide:4:4: unknown body 'fil'; did you mean 'fill'" $command mistyped.tide
done

# ---- standard input, also from a pipe whose first byte comes later than all else
from_stdin() { # NAME PATTERN ARGUMENTS…
  name=$1 pattern=$2
  shift 2
  if timeout 60 "$TIDEMARK" "$@" >out 2>err && grep -Eq -e "$pattern" out; then pass "$name"
  else fail "$name" "no '$pattern' in: $(cat out err | head -n 5)"; fi
}
from_stdin stdin_file '^<stdin>$' run - <one.tide
cat one.tide | from_stdin stdin_pipe 'ran       1 operation on 1 queue' run - --quiet-time
from_stdin stdin_explain 'q@1  q: fill b' explain - <one.tide
from_stdin stdin_sim 'simulated       1 operation on' sim - <one.tide
from_stdin stdin_fmt '^q: fill b, 1$' fmt - <one.tide
mkfifo late
"$TIDEMARK" run - <late >out 2>err &
running=$!
exec 3>late
cat one.tide >&3
exec 3>&-
if wait $running && grep -q '<stdin>' out; then pass stdin_late; else fail stdin_late "$(cat out err)"; fi
if "$TIDEMARK" run - <mistyped.tide >out 2>err; then fail stdin_place "exit status 0"
elif grep -q "^<stdin>:4:4: unknown body" err; then pass stdin_place
else fail stdin_place "$(cat err)"; fi
says stdin_write 2 '--write -: standard input is no file' fmt --write -
cp one.tide itself.tide
if "$TIDEMARK" run - --trace itself.tide <itself.tide >out 2>err; then fail stdin_spared "exit status 0"
elif grep -q 'the program is in this file' err && cmp -s itself.tide one.tide; then pass stdin_spared
else fail stdin_spared "$(cat err)"; fi

cat >sweep.tide <<'E'
param n = 1
device c cpu
queue q on c
buffer b 16
for i in 0..n { q: fill b[i*8, 8], 1 }
E

# ---- an option that names a file makes no folder
no_folder() { # NAME ARGUMENTS…
  name=$1
  shift
  if "$TIDEMARK" "$@" >out 2>err </dev/null; then fail "$name" "exit status 0"
  elif [ -e nowhere ]; then fail "$name" "it made the folder"; rm -r nowhere
  elif grep -q "cannot write 'nowhere/.*': its folder 'nowhere': No such file or directory" err; then pass "$name"
  else fail "$name" "$(cat err)"; fi
}
no_folder trace_folder run one.tide --trace nowhere/trace.json
no_folder plot_folder sim sweep.tide --sweep n=1..2 --plot nowhere/plot.svg
no_folder report_folder vulkan audit --report nowhere/report -- true
no_folder generate_folder generate image nowhere/image.raw --size 8x8
if "$TIDEMARK" view --export page.html >out 2>err; then no_folder export_folder view --export nowhere/page.html one.tide
elif grep -q 'built without the page' err; then echo "SKIP export_folder: $(cat err)"
else fail export_folder "$(cat err)"; fi
# The trace that cannot be written is refused before the run.
cat >writes.tide <<'E'
device c cpu
device d file
queue q on c
queue f on d
timeline t
buffer b 64
file o write "o.out"
q: fill b, 1 signal t = 1
f: write o, 0, b wait t >= 1
E
"$TIDEMARK" run writes.tide --output there >out 2>err && [ -e there/o.out ] || fail trace_before "$(cat err)"
"$TIDEMARK" run writes.tide --trace nowhere/trace.json >out 2>err
if [ -e o.out ]; then fail trace_before "the program ran"; else pass trace_before; fi

# ---- a sweep says where it failed
says sweep_value 1 '--sweep: it failed with n = 4$' sim sweep.tide --sweep n=1..8
says sweep_against 1 '--sweep: it failed with n = 1, n=9$' sim sweep.tide --sweep n=1..2 --against n=9

# ---- a service that is not there
says no_socket 1 "no service listens at $work/nothing/socket: No such file or directory" top --socket "$work/nothing/socket"
says no_socket_once 1 "no service listens at $work/nothing: No such file or directory" top --once --socket "$work/nothing"
