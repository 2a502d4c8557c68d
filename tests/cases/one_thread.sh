# What tests/TIERS leaves to `./test --tsan --all`, since it has one thread alone, has one thread alone.
: "${BUILD:?}"
work=$BUILD/one_thread
rm -rf "$work"
mkdir -p "$work"
cat >"$work/count.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *given) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  int made = creat(getenv("ONE_THREAD"), 0644);
  if (made >= 0) close(made);
  return real(thread, how, run, given);
}
C
cc -shared -fPIC -o "$work/count.so" "$work/count.c" -ldl || { echo "FAIL one_thread: the compiler"; exit 1; }

# As under ThreadSanitizer, where there is less to do.
makes_a_thread() { # program
  rm -f "$work/made"
  ONE_THREAD=$work/made LD_PRELOAD=$work/count.so TEST_SLOWDOWN=10 timeout 600 "$1" >"$work/out" 2>&1 </dev/null
  [ -f "$work/made" ]
}
for name in $(scripts/list tests | awk '$2 != "-" && $4 == "all" && $1 !~ /^(case|soak)\// { print $1 }'); do
  program=$BUILD/$(echo "$name" | tr / -)
  if makes_a_thread "$program"; then echo "FAIL $name: it makes a thread: tests/TIERS must not leave it out of ./test --tsan"
  elif grep -q '^FAIL ' "$work/out"; then echo "FAIL $name: $(grep -m 1 '^FAIL ' "$work/out")"
  else echo "PASS $name"; fi
done
# The counter sees those that are made.
if makes_a_thread "$BUILD/unit-timeline_threads"; then echo "PASS others_do"; else echo "FAIL others_do: unit/timeline_threads is said to make none"; fi
