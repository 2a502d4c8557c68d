"""trace_valid.py TRACE REPORT: is it Chrome's trace JSON as a viewer needs it, with an arrow for each wait
between operations? REPORT is the same paused run's (--json). Waits for a collective have no arrow: many
operations signal it together."""
import collections
import json
import sys

# The issued waits of devices that run ahead, by their keepers.
KEPT = ("kept by the host", "implied", "barrier", "native wait", "reached wait")
EPSILON = 0.002  # microseconds: times are written to the nanosecond


def no_constants(name):
    raise ValueError(name)


def load(path):
    with open(path, encoding="utf-8", errors="strict") as file:
        return json.load(file, parse_constant=no_constants)


trace = load(sys.argv[1])
assert trace["otherData"]["lost_events"] == 0
events = trace["traceEvents"]
slices = collections.defaultdict(list)
stalls = collections.defaultdict(list)
tracks, counters = {}, collections.defaultdict(int)
arrows = collections.defaultdict(list)
for event in events:
    assert event["ph"] in "MXiCsf" and event["pid"] == 1, event
    if event["ph"] == "M":
        assert event.get("tid") not in tracks, event
        tracks[event.get("tid")] = event["args"]["name"]
        continue
    assert event["ts"] >= 0 and event["name"], event
    if event["ph"] == "X":
        into = stalls if event["cat"] == "stall" else slices
        into[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    elif event["ph"] == "C":
        assert event["args"]["value"] > counters[event["name"]], event
        counters[event["name"]] = event["args"]["value"]
    elif event["ph"] in "sf":
        arrows[event["id"]].append(event)
    else:
        assert event["s"] in "gpt", event

assert len(set(tracks.values())) == len(tracks), tracks
for tid, spans in slices.items():  # nothing overlaps in a track
    assert tid in tracks, tid
    spans.sort()
    for before, after in zip(spans, spans[1:]):
        assert after[0] >= before[1] - EPSILON, (tracks[tid], before, after)

for tid, spans in stalls.items():  # a stall lies in its operation, and apart from others
    spans.sort()
    for span in spans:
        around = [s for s in slices[tid] if s[0] - EPSILON <= span[0] and span[1] <= s[1] + EPSILON]
        assert len(around) == 1, (tracks[tid], span)
    for before, after in zip(spans, spans[1:]):
        assert after[0] >= before[1] - EPSILON, (tracks[tid], before, after)

counts = collections.Counter()
for number, ends in arrows.items():
    assert [end["ph"] for end in ends] == ["s", "f"], ends
    start, finish = ends
    assert (start["cat"], start["name"]) == (finish["cat"], finish["name"]), ends
    assert start["cat"] in ("issued", "elided", "resolved", "resume") + KEPT, ends
    assert finish["bp"] == "e" and start["ts"] <= finish["ts"] + EPSILON, ends
    for end in ends:  # lies in a slice of its track: there a viewer hangs it up
        spans = slices[end["tid"]]
        assert any(a - EPSILON <= end["ts"] <= b + EPSILON for a, b in spans), end
    counts["issued" if start["cat"] in KEPT else start["cat"]] += 1

assert counts["resume"] <= sum(len(spans) for spans in stalls.values()), counts
report = load(sys.argv[2])
assert sum(len(spans) for spans in slices.values()) == report["operations"], report
for kind in ("issued", "elided"):
    wanted = report["paused"][kind]
    if "collectives" in report["program"]:
        assert 0 < counts[kind] <= wanted, (kind, counts, wanted)
    else:
        assert counts[kind] == wanted, (kind, counts, wanted)
