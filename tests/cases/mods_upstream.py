"""Compares the tool with mlir-opt on MLIR's own test files: python3 mods_upstream.py TIDEMARK MLIR_OPT FOLDER WORK. A
part of a file is what stands between two lines of `// -----`. Prints what is wrong, and the counts."""

import os
import re
import subprocess
import sys

tidemark, mlir_opt, folder, work = sys.argv[1:5]
counts = dict.fromkeys(("both accept", "both refuse", "only mlir-opt accepts", "only tidemark accepts",
                        "lowered, and mlir-opt takes it", "lowered, and mlir-opt refuses it", "other endings"), 0)
wrong = []


def run(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return -1, b"", "no end after a minute"


def first(text):
    return text.strip().splitlines()[0][:160] if text.strip() else ""


def tell(kind, place, why):
    counts[kind] += 1
    wrong.append(f"{place}: {kind}: {why}")


def try_part(place, text, options):
    part = os.path.join(work, "part.mlir")
    with open(part, "wb") as to:
        to.write(text)
    theirs, _, their_words = run(mlir_opt, *options, part)
    ours, _, our_words = run(tidemark, "mods", "check", *options, part)
    if ours not in (0, 1):
        tell("other endings", place, f"check ends with {ours}: {first(our_words)}")
        return
    if ours == 0 and theirs != 0:
        tell("only tidemark accepts", place, first(their_words))
    else:
        counts["both accept" if ours == 0 else "both refuse" if theirs else "only mlir-opt accepts"] += 1
    if options:  # lower knows no other dialects
        return
    status, lowered, words = run(tidemark, "mods", "lower", "--emit=nvvm", part)
    if status not in (0, 1):
        tell("other endings", place, f"lower ends with {status}: {first(words)}")
    if status != 0:
        return
    with open(part + ".nvvm", "wb") as to:
        to.write(lowered)
    status, _, words = run(mlir_opt, part + ".nvvm")
    if status == 0 and theirs == 0:
        counts["lowered, and mlir-opt takes it"] += 1
    else:
        tell("lowered, and mlir-opt refuses it", place, first(words) if status else "the part itself: " + first(their_words))


parts = files = 0
for path, _, names in sorted(os.walk(folder)):
    for name in sorted(names):
        if not name.endswith(".mlir"):
            continue
        with open(os.path.join(path, name), "rb") as source:
            text = source.read()
        options = ["--allow-unregistered-dialect"] if b"allow-unregistered-dialect" in text else []
        files += 1
        line = 1
        for part in re.split(rb"^// -----.*$", text, flags=re.M):
            parts += 1
            try_part(f"{os.path.relpath(os.path.join(path, name), folder)}:{line}", part, options)
            line += part.count(b"\n")
for text in wrong:
    print("  " + text)
print(f"  {parts} parts of {files} files: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
bad = counts["lowered, and mlir-opt refuses it"] + counts["other endings"]
sys.exit(1 if bad or parts < 500 else 0)
