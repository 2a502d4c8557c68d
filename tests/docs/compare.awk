# Compares what was printed with what a page shows: awk [-v vary=1] -f compare.awk SHOWN PRINTED.
# A shown line "…" stands for any lines, "…" at a line's end for its rest. With vary=1 a number stands for any
# number, and any blanks for any blanks. Prints the first difference, and exits with 1 if there is one.

# A figure of any size, in any unit of its kind, becomes N.
function shape(line) {
  if (!vary) return line
  gsub(/[0-9]+( [0-9][0-9][0-9])+/, "N", line)
  gsub(/[0-9]+(\.[0-9]+)?/, "N", line)
  gsub(/N (ns|us|ms|s)/, "N s", line)
  gsub(/N (bytes|B|KiB|MiB|GiB)/, "N B", line)
  gsub(/-N/, "N", line)
  gsub(/[ \t]+/, " ", line)
  return line
}
function same(shown, got, at) {
  shown = shape(shown); got = shape(got)
  sub(/[ \t\r]+$/, "", shown); sub(/[ \t\r]+$/, "", got)
  if (shown == got) return 1
  at = length(shown) - length("…")
  if (at < 0 || substr(shown, at + 1) != "…") return 0
  shown = substr(shown, 1, at)
  sub(/[ \t]+$/, "", shown)
  return substr(got, 1, length(shown)) == shown
}
NR == FNR { shown[++wanted] = $0; next }
{ got[++came] = $0 }
END {
  while (came && got[came] ~ /^[ \t]*$/) came--
  while (wanted && shown[wanted] ~ /^[ \t]*$/) wanted--
  # fits[i, j]: the first i shown lines stand for the first j printed ones.
  fits[0, 0] = 1
  for (i = 1; i <= wanted; i++) {
    any = shown[i] ~ /^[ \t]*…[ \t]*$/
    if (any && fits[i - 1, 0]) fits[i, 0] = 1
    reached = -1
    for (j = 1; j <= came; j++)
      if (any ? fits[i - 1, j] || fits[i, j - 1] : fits[i - 1, j - 1] && same(shown[i], got[j])) {
        fits[i, j] = 1
        reached = j
      }
    if (any && (fits[i - 1, came] || fits[i, came])) reached = came
    if (reached < 0 && !fits[i, 0]) {
      for (j = came; j > 0 && !fits[i - 1, j]; j--) {}
      printf "shows '%s', and '%s' was printed\n", shown[i], j < came ? got[j + 1] : "(nothing more)"
      exit 1
    }
  }
  if (!fits[wanted, came]) {
    for (j = came; j > 0 && !fits[wanted, j]; j--) {}
    printf "does not show '%s', which was printed\n", got[j + 1]
    exit 1
  }
}
