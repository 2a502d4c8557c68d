# Splits a page of docs into its blocks: awk -v dir=DIR -f blocks.awk PAGE.
# Of block N it writes DIR/N.text, DIR/N.marks (the comments before its fence, a line each, as "WORD: REST")
# and a line "N KIND LINE" to DIR/list; a block that cannot be classified becomes a line of DIR/wrong.
# tests/cases/docs.sh says what the kinds and the marks mean.

function problem(line, why) { print FILENAME ":" line ": " why >(dir "/wrong") }
function begin_block(kind, line) {
  count++
  print count, kind, line >(dir "/list")
  text = dir "/" count ".text"
  printf "%s", "" >text
  printf "%s", marks >(dir "/" count ".marks")
  used = used || marks != ""
  marks = ""
}
function end_block() { close(text); close(dir "/" count ".marks"); marks = "" }
function add_mark(body) {
  if (body ~ /^(not run|needs|only bare|tier)(:[ \t]*)?$/) problem(NR, "a mark without its reason: " body)
  if (body ~ /^(not run|needs|only bare|tier|file|given|figures vary|fails|around)(:|$)/) marks = marks body "\n"
}

open {
  if ($0 ~ /^```[ \t]*$/) { open = 0; end_block() }
  else {
    if (kind == "text" && /^\$ /) problem(NR, "a command in a block of kind text: expected kind console")
    print >text
  }
  next
}
commented { # a mark of several lines ends with -->
  if ($0 ~ /-->[ \t]*$/) { sub(/[ \t]*-->[ \t]*$/, ""); commented = 0 }
  body = body (body == "" ? "" : "\001") $0
  if (!commented) add_mark(body)
  next
}
/^```/ {
  kind = substr($0, 4)
  sub(/[ \t]*$/, "", kind)
  if (kind == "" && FILENAME == "README.md") kind = "readme"
  else if (kind !~ /^(tide|console|c|mlir|text)$/)
    problem(NR, "a block of kind '" kind "': expected tide, console, c, mlir or text behind its ```")
  begin_block(kind, NR)
  open = NR
  next
}
# Other ways to write a block, which would pass unseen.
/^[ \t>]+(```|~~~)/ || /^~~~/ || /<pre/ {
  problem(NR, "a block that is indented, or has no fence of backticks: expected ``` at the line's start")
}
/^<!-- / {
  body = substr($0, 6)
  if (body ~ /-->[ \t]*$/) { sub(/[ \t]*-->[ \t]*$/, "", body); add_mark(body) }
  else commented = 1
  blank = 0
  next
}
/^[ \t]*$/ { blank = 1; next }
# Four columns are a block without a kind, but for the rest of a list's item.
/^(    |\t)/ && (blank || indented) && !item {
  if (!indented && marks !~ /^not run:/)
    problem(NR, "an indented block: expected a fence that says what it is")
  if (!indented) { begin_block("indented", NR); end_block() }
  indented = 1
  blank = 0
  next
}
{
  item = /^[ ]*([-*]|[0-9]+\.) / || (item && /^ /)
  indented = blank = 0
  marks = ""
}
END { if (open) problem(open, "the block is not closed") }
