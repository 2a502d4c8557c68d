# README.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md and docs/*.md: each program, command and output is tried as it
# stands, in a copy of the tree in which `build` is this build, and the library is installed beside it. A block says
# behind its ``` what it is:
#
#   tide     a program: `tidemark explain` takes it
#   mlir     a kernel: `tidemark mods check` takes it
#   c        compiles without a warning with the installed headers; with a main it is linked, run, and kept as
#            demo.c for the commands below it; without one it is taken as the body of a function, unless it has
#            functions of its own
#   console  commands behind "$ ", and below each what it prints; a command without output is only to succeed.
#            "…" stands for any lines, or for the rest of one
#   text     none of these: a picture, a grammar, a sketch
#
# README.md may leave it out: what begins with "$ " are commands then, whose output is not compared.
#
# What else there is to know stands in comments above the fence:
#
#   <!-- not run: WHY -->     SKIP, with the reason
#   <!-- needs: PROGRAM… -->  SKIP where one of the programs (or headers, as /x/y.h) is missing
#   <!-- tier: ci -->         only tried by ./test --ci and --all
#   <!-- only bare: WHY -->   the same, but run by tests/bare-chroot.sh
#   <!-- file: NAME -->       the block is kept under this name, for commands on the same page
#   <!-- given: NAME          such a file with these lines, which the page does not show
#   LINES -->
#   <!-- figures vary -->     numbers are compared by their shape
#   <!-- fails -->            the program is refused; each command ends with another exit status than 0
#   <!-- around:              what stands around a fragment of C, tide or mlir; it goes where the line … is
#   LINES -->
#
# Besides, links lead somewhere, and the files and tests that a page's text names in `backticks` exist.
#
# DOCS_BARE=yes runs what is "only bare" and nothing else, of which there must be some; DOCS_PAGES names the pages,
# DOCS_WORK a folder to work in.
# DOCS_UPDATE=yes puts what was printed into the pages, where a block shows something else and has no "…".
: "${BUILD:?}" "${TIDEMARK:?}"
source=$PWD
work=${DOCS_WORK:-$BUILD/docs}
tree=$work/tree
rm -rf "$work"
mkdir -p "$tree/bin"
tar cf - --exclude='./build*' --exclude=./out --exclude=./.git . | tar xf - -C "$tree"
ln -s "$BUILD" "$tree/build"
ln -s "$TIDEMARK" "$tree/bin/tidemark"
PATH=$tree/bin:$PATH
TMPDIR=$work/tmp
mkdir -p "$TMPDIR"
if [ -z "${DOCS_BARE-}" ]; then
  if ! meson install -C "$BUILD" --no-rebuild --destdir "$work/installed" >"$work/install.log" 2>&1; then
    echo "FAIL install: $(tail -n 1 "$work/install.log")"
    exit 1
  fi
  PKG_CONFIG_PATH=$work/installed/usr/local/lib/pkgconfig
  PKG_CONFIG_SYSROOT_DIR=$work/installed
  LD_LIBRARY_PATH=$work/installed/usr/local/lib
  export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
fi
export PATH TMPDIR

soh=$(printf '\001')
has() { grep -q "^$1" "$marks"; }
mark() { sed -n "s/^$1: *//p" "$marks"; }
pass() { echo "PASS $name"; }
fail() {
  printf '%s\n' "FAIL $name: $page:$line: $1"
  failed=1
}
failed=0

# within FROM TO: FROM with what the mark `around` puts around it.
within() {
  if has around; then
    mark around | sed "s/^$soh//" | tr '\001' '\n' | awk -v text="$1" '
      /^[ \t]*…[ \t]*$/ { while ((getline row <text) > 0) print row; next } { print }' >"$2"
  elif [ "$1" != "$2" ]; then cp "$1" "$2"; fi
}

# Writes the files that the marks `given` hold.
give() {
  grep '^given:' "$marks" | while IFS= read -r given; do
    given=${given#given: }
    printf '%s\n' "${given#*"$soh"}" | tr '\001' '\n' >"$tree/${given%%"$soh"*}"
  done
}

# takes COMMAND…: it succeeds, or, where the page says so, fails.
takes() {
  if "$@" >"$at.said" 2>&1; then status=0; else status=$?; fi
  if has fails; then
    if [ $status = 1 ]; then pass; else fail "exit status $status, not 1"; fi
  elif [ $status = 0 ]; then pass
  else fail "exit status $status: $(head -n 3 "$at.said" | tr '\n' '|')"; fi
}

compile() {
  flags='-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-missing-field-initializers -Werror'
  # shellcheck disable=SC2046,SC2086
  cc $flags "$@" $(pkg-config --cflags --libs tidemark tidemark-lang tidemark-mods) -lpthread
}

c() {
  if grep -q '^int main(' "$at.text"; then
    cp "$at.text" "$at.c"
    if ! compile -o "$at.program" "$at.c" >"$at.said" 2>&1; then
      fail "does not compile: $(grep -m 1 error "$at.said")"
    else takes timeout 60 "$at.program"; fi
    return
  fi
  within "$at.text" "$at.c"
  {
    for header in "$source"/include/tidemark/*.h; do echo "#include <tidemark/${header##*/}>"; done
    printf '#include <stdatomic.h>\n#include <stdio.h>\n#include <string.h>\n'
    if grep -Eq '^[a-z].*\) \{$' "$at.c"; then cat "$at.c"
    else
      echo 'void fragment(void);'
      echo 'void fragment(void) {'
      cat "$at.c"
      echo '}'
    fi
  } >"$at.whole.c"
  flags='-Wno-unused-result -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-function -Wno-uninitialized -Wno-maybe-uninitialized'
  # shellcheck disable=SC2086
  if compile $flags -c -o "$at.o" "$at.whole.c" >"$at.said" 2>&1; then pass
  else fail "does not compile: $(grep -m 1 error "$at.said")"; fi
}

# The commands of a block run in one shell, which is ended, with what it has started, when they have.
console() {
  awk -v at="$at" '
    /^\$ / { n++; print substr($0, 3) >(at ".command." n); printf "%s", "" >(at ".shown." n); more = /\\$/; next }
    more { print >(at ".command." n); more = /\\$/; next }
    n { print >(at ".shown." n); next }
    { print "nothing" >(at ".headless") }
    END { print n + 0 >(at ".commands") }' "$at.text"
  read -r commands <"$at.commands"
  if [ -f "$at.headless" ] || [ "$commands" = 0 ]; then fail "a console begins with a command behind '$ '"; return; fi
  n=0
  while [ $((n += 1)) -le "$commands" ]; do
    echo ": >'$at.begun.$n'"
    echo '{'
    cat "$at.command.$n"
    echo "} >'$at.printed.$n' 2>&1 </dev/null"
    echo "echo \$? >'$at.status.$n'"
  done >"$at.sh"
  (cd "$tree" && exec env -u BUILD -u TIDEMARK setsid timeout -k 5 300 sh "$at.sh") >"$at.said" 2>&1 &
  shell=$!
  wait $shell
  kill -TERM -- -$shell 2>/dev/null
  n=0
  while [ $((n += 1)) -le "$commands" ]; do
    command=$(tr '\n' ' ' <"$at.command.$n")
    if [ ! -f "$at.status.$n" ]; then fail "'$command' did not end: $(tr '\n' '|' <"$at.said")"; return; fi
    read -r status <"$at.status.$n"
    if { has fails && [ "$status" = 0 ]; } || { ! has fails && [ "$status" != 0 ]; }; then
      fail "'$command' ends with exit status $status: $(head -n 5 "$at.printed.$n" | tr '\n' '|')"
      return
    fi
    { [ -s "$at.shown.$n" ] && [ "$kind" = console ]; } || continue
    if has 'figures vary'; then vary=1; else vary=; fi
    if ! why=$(awk -v vary=$vary -f "$source/tests/docs/compare.awk" "$at.shown.$n" "$at.printed.$n"); then
      fail "'$command' $why"
      [ -z "${DOCS_UPDATE-}" ] || show_printed
      return
    fi
  done
  pass
}

# Writes the block anew, with what was printed where it shows something.
show_printed() {
  n=0
  while [ $((n += 1)) -le "$commands" ]; do
    sed '1s/^/$ /' "$at.command.$n"
    if [ -s "$at.shown.$n" ] && ! grep -q '…' "$at.shown.$n"; then cat "$at.printed.$n"; else cat "$at.shown.$n"; fi
  done >"$at.new"
  updated="$updated $line:$at.new"
}

# From the last block to the first, so that lines keep their numbers.
write_page() {
  for update in $updated; do echo "${update%%:*} ${update#*:}"; done | sort -rn | while read -r line anew; do
    awk -v line="$line" -v anew="$anew" '
      NR == line { print; while ((getline row <anew) > 0) print row; skip = 1; next }
      skip && /^```/ { skip = 0 }
      !skip' "$page" >"$work/page" && cp "$work/page" "$page"
  done
  updated=
}
updated=

tried=0
block() { # number, kind, line
  at=$blocks/$1 marks=$blocks/$1.marks line=$3
  name=$(basename "$page" .md)_$3
  if [ "$2" = c ] && grep -q '^int main(' "$at.text"; then
    cp "$at.text" "$tree/$(mark file | grep . || echo demo.c)"
  elif has file; then within "$at.text" "$tree/$(mark file)"; fi
  give
  if [ -n "${DOCS_BARE-}" ] && ! has 'only bare'; then return; fi
  if [ -z "${DOCS_BARE-}" ] && has 'only bare'; then echo "SKIP $name: $(mark 'only bare') (tests/bare-chroot.sh)"; return; fi
  if has tier && [ "${TEST_TIER-short}" = short ]; then return; fi
  if has 'not run'; then echo "SKIP $name: $(mark 'not run')"; return; fi
  for needed in $(mark needs); do
    case $needed in
      /*) [ -e "/usr/include$needed" ] && continue ;;
      *) command -v "$needed" >/dev/null && continue ;;
    esac
    echo "SKIP $name: there is no $needed"
    return
  done
  tried=$((tried + 1))
  kind=$2
  if [ $kind = readme ] && grep -Eq '^\$ \./(run|test|bench)' "$at.text"; then
    echo "SKIP $name: minutes; .ci/run runs them"
    return
  fi
  # A build beside other tests would take the tool from them.
  if grep -q '^\$ \./run' "$at.text" && ! ninja -n -C "$BUILD" product | grep -q 'no work to do'; then
    echo "SKIP $name: the sources have changed since they were built"
    return
  fi
  case $kind in
    readme) if grep -q '^\$ ' "$at.text"; then console; fi ;;
    tide)
      within "$at.text" "$at.tide"
      takes tidemark explain "$at.tide" ;;
    mlir)
      within "$at.text" "$at.mlir"
      takes tidemark mods check "$at.mlir" ;;
    c) c ;;
    console) console ;;
  esac
}

: "${DOCS_PAGES:=README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs/*.md}"
for page in $DOCS_PAGES; do
  blocks=$work/$(basename "$page" .md)
  mkdir -p "$blocks"
  : >"$blocks/list"
  awk -v dir="$blocks" -f tests/docs/blocks.awk "$page"
  if [ -f "$blocks/wrong" ]; then
    line=0
    while read -r why; do echo "FAIL $(basename "$page" .md): $why"; done <"$blocks/wrong"
    failed=1
  fi
  while read -r number kind line; do block "$number" "$kind" "$line"; done <"$blocks/list"
  write_page
done
rm -rf "$tree/out" "$TMPDIR"
if [ -n "${DOCS_BARE-}" ]; then
  if [ $tried = 0 ]; then
    echo "FAIL bare: no block is 'only bare'"
    failed=1
  fi
  exit $failed
fi

# Links of a page lead to a file, and to a heading of it: the heading's words, small, with dashes.
missing=
for page in $DOCS_PAGES; do
  for link in $(grep -o '](\([^):]*\))' "$page" | sed 's/](\(.*\))/\1/') $(grep -o 'docs/[a-z-]*\.md' "$page" | sed 's,^,/,'); do
    file=${link%%#*} place=${link#"${link%%#*}"}
    case $file in '') file=$page ;; /*) file=.$file ;; *) file=$(dirname "$page")/$file ;; esac
    if [ ! -e "$file" ]; then missing="$missing $page:$link"
    elif [ -n "$place" ]; then
      sed -n 's/^##* //p' "$file" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-' | grep -qx -- "${place#\#}" || missing="$missing $page:$link"
    fi
  done
done
if [ -z "$missing" ]; then echo "PASS links"; else echo "FAIL links:$missing"; fi

# Files, and tests as ./test calls them, in `backticks`. `sim/…` and the like are names of benchmarks, too.
missing=
tests=$(./test --list | cut -d ' ' -f 1)
for page in $DOCS_PAGES; do
  awk '/^```/ { block = !block } !block { n = split($0, part, "`"); for (i = 2; i < n; i += 2) print part[i] }' "$page" |
    tr ' ' '\n' | sort -u >"$work/names"
  while read -r word; do
    case $word in
      *…* | *NAME*) continue ;;
      unit/* | public/* | conformance/* | attacks/* | oracle/* | case/* | tidy/* | fuzz/* | interleave/* | simulation/* | models/*)
        if printf '%s\n' "$tests" | grep -qxF -e "$word"; then continue; fi ;;
      benchmarks/* | demos/* | docs/* | examples/* | include/* | lang/* | layer/* | mods/* | scripts/* | src/* | tests/* | tool/* | web/*) ;;
      *.tide) word=examples/$word ;;
      *) continue ;;
    esac
    # shellcheck disable=SC2086
    ls -d $word >/dev/null 2>&1 || missing="$missing $page:$word"
  done <"$work/names"
done
if [ -z "$missing" ]; then echo "PASS names"; else echo "FAIL names:$missing"; fi
lines=$(wc -l <README.md)
if [ "$lines" -le 120 ]; then echo "PASS readme_length"; else echo "FAIL readme_length: $lines lines, at most 120"; fi
