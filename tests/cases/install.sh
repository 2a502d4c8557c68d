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

# Where Debian's pkg-config and loader look, whatever else is on the machine.
prefix=$root/usr/local
lib=$prefix/lib
if [ -f "$lib/pkgconfig/tidemark.pc" ] && [ -f "$lib/libtidemark.so.0" ]; then echo "PASS place"
else echo "FAIL place: no /usr/local/lib/pkgconfig/tidemark.pc (a build that was configured before: rm -rf $BUILD): $(find "$root" -name tidemark.pc)"; fi
fake=$BUILD/install-fake
rm -rf "$fake"
mkdir -p "$fake"
printf '#!/bin/sh\nexit 1\n' >"$fake/dpkg-architecture"
chmod +x "$fake/dpkg-architecture"
if ! PATH=$fake:$PATH meson setup "$fake/build" >"$fake/log" 2>&1; then echo "FAIL place_without_dpkg_dev: $(tail -n 3 "$fake/log")"
elif meson introspect --installed "$fake/build" | grep -q '"/usr/local/lib/pkgconfig/tidemark.pc"'; then echo "PASS place_without_dpkg_dev"
else echo "FAIL place_without_dpkg_dev: $(meson introspect --installed "$fake/build" | grep -o '"/usr/local/[^"]*tidemark.pc"')"; fi
export PKG_CONFIG_PATH="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
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
    [ "$(LD_LIBRARY_PATH="$lib" "$root/$name")" = TIDE_TIMEOUT ]; then
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
try user_of_static $(pkg-config --cflags tidemark) "$lib/libtidemark.a" $needs $sanitizers

if "$prefix/bin/tidemark" --version >/dev/null 2>&1; then echo "PASS tool"; else echo "FAIL tool: --version"; fi
if "$TIDEMARK" --help | grep -q usage; then echo "PASS help"; else echo "FAIL help: no usage line"; fi
soname=$(readelf -d "$BUILD/libtidemark.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" = libtidemark.so.0 ]; then echo "PASS soname"; else echo "FAIL soname: $soname"; fi
