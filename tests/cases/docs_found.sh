# What case/docs must find on a page, it finds: each block of a bad page fails, for its own reason.
: "${BUILD:?}" "${TIDEMARK:?}"
work=$BUILD/docs_found
rm -rf "$work"
mkdir -p "$work"
page=$work/page.md
: >"$page"
: >"$work/wanted"
# expect VERDICT WHY: stdin is a part of the page; its first block gets this verdict, for this reason.
expect() {
  line=$(wc -l <"$page")
  cat >"$work/part"
  cat "$work/part" >>"$page"
  echo >>"$page"
  fence=$(grep -n '^ *```\|^    \|^~~~\|^<pre\|^<!-- not run -->\|^<!-- only bare: -->' "$work/part" | head -n 1 | cut -d: -f1)
  echo "$1 $((line + fence)) $2" >>"$work/wanted"
}
expect FAIL "a block of kind ''" <<'P'
```
$ true
```
P
expect FAIL 'an indented block' <<'P'
Text.

    $ true

More text.
P
expect FAIL 'a block that is indented, or has no fence of backticks' <<'P'
- An item:

  ```console
  $ false
  ```
P
expect FAIL 'a block that is indented, or has no fence of backticks' <<'P'
~~~console
$ false
~~~
P
expect FAIL 'a block that is indented, or has no fence of backticks' <<'P'
<pre>
$ false
</pre>
P
expect FAIL 'a command in a block of kind text' <<'P'
```text
$ false
```
P
expect FAIL 'a mark without its reason' <<'P'
<!-- not run -->
Text.
P
expect FAIL 'a mark without its reason' <<'P'
<!-- only bare: -->
Text.
P
expect FAIL "unknown queue 'q'" <<'P'
```tide
q: nop
```
P
expect FAIL 'exit status 0, not 1' <<'P'
<!-- fails -->
```tide
device c cpu
queue q on c
q: nop
```
P
expect FAIL 'is not an operation' <<'P'
```mlir
foo
```
P
expect FAIL 'does not compile' <<'P'
```c
int x = "text";
```
P
expect FAIL 'does not compile' <<'P'
```c
int main(void) { return tide_no_such_function(); }
```
P
expect FAIL 'exit status 3' <<'P'
```c
int main(void) { return 3; }
```
P
expect FAIL "shows 'two', and 'one' was printed" <<'P'
```console
$ echo one
two
```
P
expect FAIL "does not show 'two'" <<'P'
```console
$ printf 'one\ntwo\n'
one
```
P
expect FAIL '(nothing more)' <<'P'
```console
$ echo one
one
…
two
```
P
expect FAIL 'ends with exit status 1' <<'P'
```console
$ false
```
P
expect FAIL 'ends with exit status 0' <<'P'
<!-- fails -->
```console
$ true
```
P
expect FAIL 'begins with a command' <<'P'
```console
tidemark --version
```
P
expect FAIL "shows '7 ms'" <<'P'
```console
$ echo 8 ms
7 ms
```
P
expect FAIL "shows '7 ms for all'" <<'P'
<!-- figures vary -->
```console
$ echo 1 234.5 us for none
7 ms for all
```
P
cat >>"$page" <<'P'
<!-- file: kept.txt -->
```text
keep
```

P
expect FAIL "shows 'kept'" <<'P'
```console
$ cat kept.txt
kept
```
P
expect SKIP 'because' <<'P'
<!-- not run: because -->
```console
$ false
```
P
expect PASS '' <<'P'
<!-- figures vary -->
```console
$ printf 'a table\n  of  1 234   -5.5 us\nrest\n'
a table
  of  7   3 ms
…
$ cat kept.txt && echo "it's so long"
keep
it's …
```
P
expect PASS '' <<'P'
<!-- around:
device c cpu
queue q on c
…
q: nop -->
```tide
q: nop
```
P
expect PASS '' <<'P'
<!-- given: given.txt
1 < 2
-->
```console
$ cat given.txt
1 < 2
```
P
cat >>"$page" <<'P'
[a link](nowhere.md), `examples/hello.tide`, `examples/no-such.tide`, `no_such.tide`, `case/docs`, `case/no_such`,
`./test unit/timeline`, `./test unit/no_such`, `src/no_such*`,`tests/cases/*.sh`.
P
DOCS_WORK=$work/docs DOCS_PAGES=$page sh tests/cases/docs.sh >"$work/said" 2>&1
wants() { if grep -qxF -e "$2" "$work/said"; then echo "PASS $1"; else echo "FAIL $1: $(grep "$3" "$work/said")"; fi; }
wants links "FAIL links: $page:nowhere.md" links
wants names "FAIL names: $page:case/no_such $page:examples/no-such.tide $page:examples/no_such.tide $page:src/no_such* $page:unit/no_such" names
# Where nothing is "only bare", trying that tries nothing.
if DOCS_BARE=yes DOCS_WORK=$work/docs DOCS_PAGES=$page sh tests/cases/docs.sh 2>&1 | grep -q '^FAIL bare'; then echo "PASS bare"
else echo "FAIL bare: a page without such a block passes"; fi
while read -r verdict line why; do
  name=$(echo "$verdict" | tr A-Z a-z)_$line
  # A block is known by its line; what cannot be classified, by the page's line.
  if grep "^$verdict " "$work/said" | grep -e "page_$line[: ]" -e "page_$line\$" -e "page.md:$line: " -e "page.md:$((line + 1)): a command" | grep -qF -e "$why"; then echo "PASS $name"
  else echo "FAIL $name: no '$verdict' for '$why': $(grep -e "page_$line" -e "page.md:$line:" "$work/said" | tr '\n' '|')"; fi
done <"$work/wanted"
