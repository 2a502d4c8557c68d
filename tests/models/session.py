#!/usr/bin/env -S python3 -B
"""session.py: a session of several machines as an executable model (docs/processes.md, src/cluster/transport.h).

A seed makes a random program that all members know: local queues, timelines, collectives, and buffers that other
members read. A network delays and reorders messages. Members are stopped, killed, started again and cut off; in the
end they leave. A judge that knows the truth finds operations that start too early or fail without a cause, memory
that is overwritten while it is read, false lessons, losses without a fault, and all that never ends.

    session_rules.py        the shapes of programs, and the rules with their switches
    session_values.py       frontiers, records, timelines, messages
    session_member.py       how operations enter, start and end by the knowledge of one member
    session_collective.py   collectives
    session_memory.py       blocks, exports and receipts
    session_link.py         followers, states, the window; a loss; leaving
    session_world.py        programs, the network, faults
    session_truth.py        the judge

The test. With all rules no seed of any shape violates. Without a rule its recorded seed does. The shapes `pinned`
stand for a pool whose freed block stays out of use until its receipts are over: no wait for a receipt is elided, and
none is looked at again at a start. They are as sound.

Two rules are less than they seem. Without `takes_nothing_in` a value fails and is then reached, so that two waiters
of one member disagree; no other harm was found. `closes_gaps`, by which a promise is not kept if one before it has
not come, is harmless: a wait below the promise stays at its own value and imports nothing. Mirrors would need this
rule whose waits go to the next promise, as those of a timeline that operations alone signal.

Simplifications. Beats are no messages. A queue signals one timeline. An operation that enters as failed promises its
value all the same. A queue is replaced when its operations have finished. Leaving has no deadline. A member that is
silent after its BYE counts as gone: it is told nothing more, and its last operations may be cancelled.

    session.py                        the test; of more seeds where TEST_TIER is all
    session.py SHAPE SEED [RULE…]     one history, without these rules
    session.py --search COUNT [RULE…] the first seed of each shape that violates without the rule
"""

import os
import sys

from session_rules import PINNED, RULES, SHAPES, shape
from session_truth import Violation
from session_world import World

SEEDS = {"short": 50, "ci": 50, "all": 1000}  # of each shape
SHOWN = 100  # last lines of a history

# Each of these happens in the seeds of a test.
COUNTED = (
    "byes cancelled closed collectives crashes cuts elided ends exports failed followed_axes gaps issued kills losses"
    " pulled quarantined resolved restarts reused stops"
).split()


def run(options, seed, log=None):
    """Returns what was counted, and the violation or None."""
    world = World(seed, options, log)
    try:
        world.run()
    except Violation as violation:
        return world.counts, str(violation)
    return world.counts, None


def test_shape(name, options, count):
    """No seed violates. Returns the counts of all."""
    total = {}
    for seed in range(count):
        counts, violation = run(options, seed)
        if violation:
            print(f"FAIL session {name}: seed {seed}: {violation}")
            return total
        for key, value in counts.items():
            total[key] = total.get(key, 0) + value
    print(f"PASS session {name}")
    print(f"     {count} seeds: {', '.join(f'{value} {key}' for key, value in sorted(total.items()))}")
    return total


def test_broken(name, options, seed):
    _, violation = run(options, seed)
    if violation:
        print(f"PASS session {name}")
        print(f"     seed {seed}: {violation}")
    else:
        print(f"FAIL session {name}: not found with seed {seed}")


def test():
    count = SEEDS[os.environ.get("TEST_TIER", "short")]
    total = {}
    for name in SHAPES:
        for key, value in test_shape(name, shape(name), count).items():
            total[key] = total.get(key, 0) + value
    test_shape("wide without closes_gaps", shape("wide", closes_gaps=False), count)
    missing = [key for key in COUNTED if not total.get(key)]
    print(f"FAIL session reach: never happened: {', '.join(missing)}" if missing else "PASS session reach")
    for name, rule in RULES.items():
        test_broken(f"without {name}", shape(rule.shape, **{name: False}), rule.seed)
    for name, (where, seed) in PINNED.items():
        test_broken(f"pinned without {name}", shape(where, **{name: False}), seed)


def show(name, seed, rules):
    log = []
    counts, violation = run(shape(name, **{rule: False for rule in rules}), seed, log)
    print("\n".join(log[-SHOWN:]))
    print(counts)
    print(violation or "no violation")
    return 1 if violation else 0


def search(count, names):
    for name in names or RULES:
        found = []
        for where in SHAPES:
            for seed in range(count):
                _, violation = run(shape(where, **{name: False}), seed)
                if violation:
                    found.append(f"{where} {seed}")
                    example = violation
                    break
        print(f"{name}: {', '.join(found)}: {example}" if found else f"{name}: none within {count} seeds", flush=True)


def main(words):
    if not words:
        test()
    elif words[0] == "--search":
        search(int(words[1]), words[2:])
    elif len(words) > 1 and words[0] in SHAPES:
        return show(words[0], int(words[1]), words[2:])
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
