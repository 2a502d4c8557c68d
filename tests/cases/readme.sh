# What README.md shows works: its C compiles without a warning and does what it says, its program
# runs, and both files that it names are there.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/readme
rm -rf "$work"
mkdir -p "$work"
block() { # the first block of this kind that holds a word
  awk -v kind="$1" -v word="$2" '
    /^```/ { if (open && !done && mine && index(text, word)) { printf "%s", text; done = 1 }
             open = !open; mine = $0 == "```" kind; text = ""; next }
    open { text = text $0 "\n" }' README.md
}

block c tide_queue_submit >"$work/readme.c"
cat >>"$work/readme.c" <<'C'
#include <stdio.h>
static enum tide_status write_21(void *a) { return **(int **)a = 21, TIDE_OK; }
static enum tide_status twice(void *a) { return **(int **)a *= 2, TIDE_OK; }
int main(void) {
  static const struct tide_body_class make = {.name = "make", .host = write_21};
  static const struct tide_body_class double_it = {.name = "double", .host = twice};
  struct tide_context context;
  struct tide_sched *sched;
  struct tide_cpu *cpu;
  struct tide_device *device;
  struct tide_queue *left, *right;
  struct tide_timeline *done;
  int number = 0;
  if (tide_context_init(&context, NULL) || tide_sched_create(&context, NULL, &sched) ||
      tide_cpu_open(&context, sched, NULL, "cpu", &cpu, &device) ||
      tide_queue_create(device, NULL, &left) || tide_queue_create(device, NULL, &right) ||
      tide_timeline_create(&context, NULL, &done) ||
      pipeline(left, right, done, &make, &double_it, &number))
    return 1;
  printf("%d\n", number);
  tide_queue_destroy(left);
  tide_queue_destroy(right);
  tide_timeline_destroy(done);
  tide_cpu_close(cpu);
  tide_sched_destroy(sched);
  tide_context_fini(&context);
}
C
sanitizers=
case ${TEST_KIND-} in asan) sanitizers=-fsanitize=address,undefined ;; tsan) sanitizers=-fsanitize=thread ;; esac
# shellcheck disable=SC2086
if cc -std=c11 -Wall -Wextra -Wno-missing-field-initializers -Werror $sanitizers -Iinclude -o "$work/readme" \
  "$work/readme.c" -L"$BUILD" -ltidemark -Wl,-rpath,"$BUILD" 2>"$work/log" &&
  [ "$("$work/readme")" = 42 ]; then echo "PASS c"
else echo "FAIL c: $(tr '\n' '|' <"$work/log")"; fi
lines=$(block c tide_queue_submit | wc -l)
if [ "$lines" -gt 5 ] && [ "$lines" -le 25 ]; then echo "PASS c_is_short"; else echo "FAIL c_is_short: $lines lines"; fi

block '' 'device cpu0' >"$work/readme.tide"
if "$TIDEMARK" run "$work/readme.tide" --check >"$work/said" 2>&1; then echo "PASS program"
else echo "FAIL program: $(tr '\n' '|' <"$work/said")"; fi

lines=$(wc -l <README.md)
if [ "$lines" -le 160 ]; then echo "PASS length"; else echo "FAIL length: $lines lines, at most 160"; fi
# Of a page with a place in it, the place is a heading of that page: its words, small, with dashes.
missing=
for link in $(grep -o '](\([^):]*\))' README.md | sed 's/](\(.*\))/\1/') $(grep -o 'docs/[a-z]*\.md' README.md); do
  page=${link%%#*} place=${link#"${link%%#*}"}
  if [ ! -e "$page" ]; then missing="$missing $link"
  elif [ -n "$place" ]; then
    sed -n 's/^##* //p' "$page" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-' | grep -qx -- "${place#\#}" || missing="$missing $link"
  fi
done
if [ -z "$missing" ]; then echo "PASS links"; else echo "FAIL links:$missing"; fi
