# What a user gets: installs into an empty folder and builds a program on each library, once with
# the shared one and once with the static one, by pkg-config alone.
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
# One program a library, which prints 1; the package that it asks for brings what that needs.
source() { # package, header, expression
  printf '#include <stdio.h>\n#include <tidemark/%s>\nint main(void) { return printf("%%d\\n", %s) < 0; }\n' "$2" "$3" >"$root/$1.c"
}
source tidemark base.h 'tide_status_name(TIDE_TIMEOUT)[5] == 84'
source tidemark-lang kernel.h 'tide_kernel_find("fill") != NULL'
source tidemark-mods mods.h 'tide_mods_body() != NULL'
sanitizers=
case $TEST_KIND in asan) sanitizers=-fsanitize=address,undefined ;; tsan) sanitizers=-fsanitize=thread ;; esac
links() { # package, of which kind, what it must load, flags…
  name=$1 kind=$2 loads=$3
  shift 3
  program=$root/$name-$kind
  # shellcheck disable=SC2086
  if ! cc -std=c11 -Wall -Werror -o "$program" "$root/$name.c" "$@" $sanitizers 2>"$program.log"; then
    cat "$program.log"
    echo "FAIL ${name}_$kind: cc $*"
    return
  fi
  said=$(LD_LIBRARY_PATH="$lib" "$program")
  loaded=$(readelf -d "$program" | sed -n 's/.*NEEDED.*\[\(libtidemark.*\)\]/\1/p' | sort | tr '\n' ' ')
  if [ "$said" != 1 ]; then echo "FAIL ${name}_$kind: it says '$said'"
  elif [ "$loaded" != "$loads" ]; then echo "FAIL ${name}_$kind: it loads '$loaded', not '$loads'"
  else echo "PASS ${name}_$kind"; fi
}
for name in tidemark tidemark-lang tidemark-mods; do
  # What it calls, and nothing else: the library that it needs comes with it.
  # shellcheck disable=SC2046
  links $name shared "lib$name.so.0 " -Wl,--as-needed $(pkg-config --cflags --libs $name)
  # The archives by name, and what pkg-config says that they need besides.
  archives=$(pkg-config --static --libs $name | tr ' ' '\n' | sed -n "s,^-l\(tidemark.*\),$lib/lib\1.a,p")
  needs=$(pkg-config --static --libs $name | tr ' ' '\n' | grep -v -e -ltidemark | tr '\n' ' ')
  # shellcheck disable=SC2046,SC2086
  links $name static "" $(pkg-config --cflags $name) $archives $needs
  soname=$(readelf -d "$lib/lib$name.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  if [ "$soname" = lib$name.so.0 ]; then echo "PASS ${name}_soname"; else echo "FAIL ${name}_soname: $soname"; fi
done
# The core alone asks for nothing of the other two.
if pkg-config --static --libs tidemark | grep -q -e png -e tidemark-; then echo "FAIL core_alone: $(pkg-config --static --libs tidemark)"
else echo "PASS core_alone"; fi

if "$prefix/bin/tidemark" --version >/dev/null 2>&1; then echo "PASS tool"; else echo "FAIL tool: --version"; fi
if "$TIDEMARK" --help | grep -q usage; then echo "PASS help"; else echo "FAIL help: no usage line"; fi
