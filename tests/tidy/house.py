"""What the checks beside this file share: the layers of src/LAYERS, which layer a
file belongs to and which library a layer, and how a result is printed. Not a check
itself.

TIDY_ROOT is the tree to look at (the repository by default; tests/tidy/red gives
small bad ones), BUILD the folder where it was built."""

import fnmatch
import os
import sys

ROOT = os.path.abspath(os.environ.get("TIDY_ROOT", os.path.join(os.path.dirname(__file__), "../..")))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))


class Layer:
    def __init__(self, rank, name, words):
        self.rank = rank
        self.name = name
        self.hosted = "hosted" in words
        self.headers = [w for w in words if w.endswith(".h")]
        self.exceptions = dict(w.split("=") for w in words if "=" in w)

    def is_hosted(self, path):
        """path is relative to the root; single files may differ from their layer."""
        for pattern, kind in self.exceptions.items():
            if fnmatch.fnmatch(os.path.basename(path), pattern):
                return kind == "hosted"
        return self.hosted


def read_layers():
    layers = []
    with open(os.path.join(ROOT, "src/LAYERS"), encoding="utf-8") as text:
        for line in text:
            words = line.split("#")[0].split()
            if words:
                layers.append(Layer(len(layers), words[0], words[1:]))
    return layers


LAYERS = read_layers()
PRODUCT = ["src", "lang", "mods", "tool"]  # where the layers lie
LIBRARIES = {"src": "tidemark", "lang": "tidemark-lang", "mods": "tidemark-mods"}


def layer_of(path):
    """The layer of src/LAYER/x.c, LAYER/x.c or include/tidemark/x.h; None when it has none."""
    if path.startswith("include/tidemark/"):
        name = os.path.basename(path)
        for layer in LAYERS:
            if name in layer.headers:
                return layer
        name = name[: -len(".h")]
        return next((layer for layer in LAYERS if os.path.basename(layer.name) == name), None)
    folder = os.path.dirname(path).removeprefix("src/")
    return next((layer for layer in LAYERS if layer.name == folder), None)


def library_of(layer):
    """The library that the layer goes into; None of the tool."""
    folder = layer.name.split("/")[0]
    return LIBRARIES.get(folder if folder in PRODUCT else "src")


def must_do_without(layer, other):
    """True if the one layer's library does without that of the other: the libraries above
    libtidemark need it, but not each other."""
    mine, its = library_of(layer), library_of(other)
    return mine is not None and its not in (mine, "tidemark")


def files(folders, endings):
    """Sorted paths below the folders, relative to the root."""
    found = []
    for folder in folders:
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith(tuple(endings)):
                    found.append(os.path.relpath(os.path.join(where, name), ROOT))
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as text:
        return text.read()


def conclude(name, problems, looked_at):
    """One PASS, or one FAIL with the problems listed above it. Having looked at nothing
    is a failure, too."""
    if looked_at == 0:
        problems = problems + ["found nothing to look at"]
    if not problems:
        print(f"PASS {name}")
        sys.exit(0)
    for problem in problems:
        print("  " + problem)
    more = f" (and {len(problems) - 1} more, above)" if len(problems) > 1 else ""
    print(f"FAIL {name}: {problems[0]}{more}")
    sys.exit(1)
