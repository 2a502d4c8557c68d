"""The shapes of the model's programs, and its rules, each with a switch and a seed that needs it."""

from typing import NamedTuple

SHAPES = {
    "usual": {},
    "faults": {"operations": 40, "faults": 0.03},
    "wide": {"members": 4, "capacity": 2, "operations": 40},
    "cuts": {"members": 4, "operations": 40, "faults": 0.0, "cuts": 0.01},
    "calm": {"operations": 40, "faults": 0.0, "crashes": 0.0},
    "crashes": {"faults": 0.0, "crashes": 0.05, "failures": 0.25},
    "late": {"operations": 16, "queues": 5, "early_follows": 0.0, "faults": 0.0, "crashes": 0.0},
    "late_crashes": {"operations": 16, "queues": 5, "early_follows": 0.0, "faults": 0.0, "crashes": 0.5},
    "stays": {"faults": 0.02, "leaves": False},
    "pinned": {"operations": 40, "faults": 0.02, "pinned": True},
    "pinned_calm": {"operations": 40, "faults": 0.0, "pinned": True},
}


class Rule(NamedTuple):
    holds: str
    broken: str  # what happens where it does not hold
    shape: str
    seed: int  # the first one that violates without it


RULES = {
    # Promises and waits.
    "home_promises": Rule("the home of a timeline alone promises its values", "other members do, too", "faults", 0),
    "waits_exactly": Rule(
        "of a later promise alone, a wait imports nothing and stays at its value",
        "it waits for the promise",
        "calm",
        0,
    ),
    "settles_elided": Rule("an elided wait is looked at again at the start", "it is forgotten", "cuts", 1),
    "fails_in_place": Rule(
        "a failing operation waits for its whole frontier", "it waits for the imported signallers", "faults", 6
    ),
    "joins_states": Rule("a state is joined with the known one", "it replaces that one", "wide", 1),
    # Lessons for the tracker.
    "promises_teach_nothing": Rule("a promise teaches no progress", "its frontier counts as over", "wide", 0),
    "failures_teach_nothing": Rule("a failed record teaches no progress", "its frontier counts as over", "cuts", 0),
    "externals_teach_nothing": Rule(
        "an external value teaches no progress", "the next promise is its record", "calm", 0
    ),
    # Progress on demand.
    "follows_progress": Rule("a failing operation asks for the progress that it needs", "it waits", "calm", 0),
    "answers_progress": Rule(
        "a new follower of an axis is told its progress", "later progress alone is told", "crashes", 2
    ),
    "tells_closed": Rule("the home of a closed axis says that it is closed", "it has forgotten the axis", "calm", 1),
    "closes_when_over": Rule(
        "an axis closes when all its epochs have finished", "it closes with its queue", "crashes", 2
    ),
    # States.
    "tells_snapshot": Rule(
        "a new follower of a timeline is told its state", "later changes alone are told", "calm", 0
    ),
    "keeps_window": Rule("the states on their way to a member are bounded", "each change is sent at once", "wide", 4),
    # Memory.
    "keeps_exports": Rule(
        "an export goes to its reader with the next state for that reader",
        "it goes with the next state to any follower",
        "wide",
        0,
    ),
    "checks_life": Rule(
        "a reader uses the export of the life that it reads", "it uses the newest one that it knows", "usual", 73
    ),
    "counts_receipts": Rule(
        "a receipt is open from the export on", "it is open from the reader's promise on", "calm", 1
    ),
    "awaits_failed_receipts": Rule("a failed receipt is open until its reader has ended", "it is over", "calm", 1),
    "tells_ended": Rule(
        "the home of a receipt says up to where its promises are over",
        "the end is read off the next record's signaller",
        "cuts",
        0,
    ),
    "looks_again": Rule(
        "a writer looks at the receipts of its block again at its start", "it looks once", "cuts", 58
    ),
    # Collectives.
    "collective_awaits_all": Rule("a collective is reached when all its parts are over", "one is enough", "wide", 0),
    "collectives_in_order": Rule("a collective is reached after the one before it", "it is not held up", "calm", 4),
    # Loss.
    "falls_silent": Rule("after a loss a member tells no state", "it goes on telling", "usual", 224),
    "falls_mute": Rule("it sends no beat, and tells the loss to all", "it beats, and does not tell", "cuts", 0),
    "takes_nothing_in": Rule("it takes no state in", "it goes on taking in", "cuts", 0),
    "fails_all": Rule("the unreached values of all other members fail", "those of the lost member do", "usual", 0),
    "severs": Rule("the axes of other members hold up nothing", "failing operations wait for them", "cuts", 0),
    "quarantines": Rule("a block with an open receipt is never used again", "the receipt counts as over", "cuts", 13),
    "closes_endpoints_first": Rule(
        "exported memory is given back after the endpoints are closed", "it is given back before", "wide", 1
    ),
    "names_session": Rule(
        "a message names its session", "a rank that was started again is taken for the old one", "faults", 3
    ),
    "judges_last": Rule(
        "the end of a stream counts when all its messages are taken in", "it counts at once", "calm", 145
    ),
    # Leaving.
    "leaves_finished": Rule("BYE waits for the end of all that was promised", "it does not", "calm", 2),
    "leaves_acknowledged": Rule("BYE waits until all that was told is acknowledged", "it does not", "usual", 4),
    "leaves_read": Rule("BYE waits for open receipts", "exported memory may go before they are over", "calm", 1),
    "leaves_asked": Rule(
        "BYE waits for all requests that members sent until they noted the leaving", "it does not", "late_crashes", 63
    ),
    "acknowledges_leaving": Rule(
        "each message of a leaving member is acknowledged", "acknowledgements wait for half a window", "calm", 0
    ),
    "answers_late": Rule(
        "BYE ends a timeline that was followed later with its first state", "BYE ends it at once", "late", 976
    ),
    "cancels_left": Rule("after BYE the unreached values fail", "their waits go on", "usual", 3),
    "serves_on": Rule("a member answers until all have said BYE", "it ends with its own BYE", "late", 32),
    "delivers_all": Rule("the end of a member loses none of its messages", "it loses those under way", "late", 9),
    "left_is_no_loss": Rule("after BYE, silence and the end of the stream are no loss", "they are", "crashes", 0),
    "left_is_closed": Rule(
        "a member that has left and is gone has closed axes", "they stay as they are", "crashes", 14
    ),
    "left_owes_nothing": Rule("such a member owes no acknowledgement", "others wait for it", "crashes", 6),
    "left_has_read": Rule("the receipts of a member that has left are over", "they stay as they are", "crashes", 12),
    "severs_at_end": Rule(
        "when all have said BYE, the axes of others hold up nothing", "failing operations wait for them", "calm", 288
    ),
}

# The rules of memory, where a block is free only when its receipts are over: the shape and the first seed.
PINNED = {
    "keeps_exports": ("pinned_calm", 0),
    "checks_life": ("pinned", 32),
    "counts_receipts": ("pinned_calm", 0),
    "awaits_failed_receipts": ("pinned_calm", 1),
    "tells_ended": ("pinned_calm", 2),
    "quarantines": ("pinned", 41),
}


class Options:
    """A shape of programs, and the rules that hold."""

    def __init__(self, **changes):
        self.members = 3
        self.queues = 2
        self.operations = 26
        self.capacity = 4  # of frontiers
        self.window = 4
        self.early_follows = 0.5  # of programs that follow timelines before they submit
        self.faults = 0.012  # a step
        self.cuts = 0.0  # of links, besides these
        self.crashes = 0.004  # of members that have left
        self.failures = 0.06  # of bodies
        self.leaves = True  # the members leave when the program is over
        self.pinned = False  # a block is free when its receipts are over: nothing is elided, nor looked at again
        self.closes_gaps = True  # a promise behind one that has not come is not kept
        for name in RULES:
            setattr(self, name, True)
        for name, value in changes.items():
            if not hasattr(self, name):
                raise SystemExit(f"session.py: no rule or option is called {name}")
            setattr(self, name, type(getattr(self, name))(value))


def shape(name, **changes):
    return Options(**{**SHAPES[name], **changes})
