# What a user gets: installs into an empty folder and builds a program on it, once with
# the shared library and once with the static one, by pkg-config alone.
root=$BUILD/installed
rm -rf "$root"
if ! meson install -C "$BUILD" --no-rebuild --destdir "$root" >"$BUILD/install.log" 2>&1; then
  cat "$BUILD/install.log"
  echo "FAIL install: meson install"
  exit 1
fi
echo "PASS install"

prefix=$root/usr/local
pc=$(find "$root" -name tidemark.pc)
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$root"
cat >"$root/user.c" <<'C'
#include <stdio.h>
#include <tidemark/tidemark.h>
int main(void) { return puts(tide_status_name(TIDE_TIMEOUT)) < 0; }
C
[ -f "$prefix/include/tidemark/tidemark.h" ] || sed -i 's/tidemark.tidemark.h/tidemark\/base.h/' "$root/user.c"

flags=$(pkg-config --cflags --libs tidemark) || echo "FAIL pkg_config: --libs"
try() { # name, flags…
  name=$1
  shift
  # shellcheck disable=SC2086
  if cc -std=c11 -Wall -Werror -o "$root/$name" "$root/user.c" "$@" 2>"$root/$name.log" &&
    [ "$(LD_LIBRARY_PATH="${pc%/pkgconfig/*}" "$root/$name")" = TIDE_TIMEOUT ]; then
    echo "PASS $name"
  else
    cat "$root/$name.log"
    echo "FAIL $name: cc $*"
  fi
}
sanitizers=
case $TEST_KIND in asan) sanitizers=-fsanitize=address,undefined ;; tsan) sanitizers=-fsanitize=thread ;; esac
# shellcheck disable=SC2086
try user_of_shared $flags $sanitizers
# The archive by name, and what pkg-config says that it needs besides.
needs=$(pkg-config --static --libs tidemark | tr ' ' '\n' | grep -v -e -ltidemark | tr '\n' ' ')
# shellcheck disable=SC2086
try user_of_static $(pkg-config --cflags tidemark) "${pc%/pkgconfig/*}/libtidemark.a" $needs $sanitizers

if "$prefix/bin/tidemark" --version >/dev/null 2>&1; then echo "PASS tool"; else echo "FAIL tool: --version"; fi
if "$TIDEMARK" --help | grep -q usage; then echo "PASS help"; else echo "FAIL help: no usage line"; fi
soname=$(readelf -d "$BUILD/libtidemark.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" = libtidemark.so.0 ]; then echo "PASS soname"; else echo "FAIL soname: $soname"; fi
