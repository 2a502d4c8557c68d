"""Frontiers, records, timelines, and the messages of a session."""

UNBOUNDED = 10**9  # above every value and epoch; as progress: the axis is closed

PENDING, REACHED, FAILED = "pending", "reached", "failed"

# An axis is (machine, queue, ordinal), a timeline (home, queue). Those of collectives have this queue, at the root.
COLLECTIVE = -1


class Frontier:
    """At most one epoch an axis. A tainted one may lack entries; those that it has are true."""

    __slots__ = ("entries", "tainted")

    def __init__(self, entries=(), tainted=False):
        self.entries = dict(entries)
        self.tainted = tainted

    def copy(self):
        return Frontier(self.entries, self.tainted)

    def knows(self, axis, epoch):
        return self.entries.get(axis, 0) >= epoch


class Record:
    """A value of a timeline. An external one has no frontier and no signaller."""

    __slots__ = ("value", "frontier", "signaller", "state", "is_over")

    def __init__(self, value, frontier, signaller, state):
        self.value = value
        self.frontier = frontier
        self.signaller = signaller  # (axis, epoch)
        self.state = state
        self.is_over = False  # at its home: the operation has ended, whatever its status

    def copy(self):
        return Record(self.value, self.frontier, self.signaller, self.state)


class Timeline:
    """A timeline as one member knows it: at its home, or a mirror elsewhere."""

    __slots__ = ("reached", "failed_from", "records", "ended", "known", "has_snapshot", "is_final", "lowest_failed")

    def __init__(self):
        self.reached = 0
        self.failed_from = UNBOUNDED
        self.records = {}
        # Of a mirror:
        self.ended = 0  # all that was promised up to here is over
        self.known = 0  # all promises up to here have come
        self.has_snapshot = False  # a state has come
        self.is_final = False  # its home has left: later states change nothing
        self.lowest_failed = UNBOUNDED  # for the judge

    def smallest(self, value, state):
        """Returns the record in this state of the smallest value from `value` on; None: there is none."""
        found = None
        for record in self.records.values():
            if record.value >= value and record.state == state and (not found or record.value < found.value):
                found = record
        return found

    def smallest_tracked(self, value, state=None):
        """Does so among the records with a signaller. The state None stands for any."""
        found = None
        for record in self.records.values():
            if record.value < value or not record.signaller or (state and record.state != state):
                continue
            if not found or record.value < found.value:
                found = record
        return found

    def newest_pending(self):
        return max((r for r in self.records.values() if r.state == PENDING), key=lambda r: r.value, default=None)

    def fail(self, value):
        """Fails the unreached values from this one on. Returns the records that fail by it."""
        self.failed_from = min(self.failed_from, max(value, self.reached + 1))
        self.lowest_failed = min(self.lowest_failed, self.failed_from)
        failed = [r for r in self.records.values() if r.state == PENDING and r.value >= self.failed_from]
        for record in failed:
            record.state = FAILED
        return failed

    def ended_up_to(self):
        """Returns the value up to which all promises are over, whatever their status. At the home."""
        promised = [r for r in self.records.values() if r.signaller]
        unfinished = [r.value for r in promised if not r.is_over]
        if unfinished:
            return min(unfinished) - 1
        return max((r.value for r in promised), default=0)


# Kinds of messages. PART is of a collective.
FOLLOW, FOLLOW_AXIS, STATE, PROGRESS = "FOLLOW", "FOLLOW_AXIS", "STATE", "PROGRESS"
ACK, LEAVING, NOTED, BYE, LOST, PART = "ACK", "LEAVING", "NOTED", "BYE", "LOST", "PART"


class Message:
    """`session` is the tag: 0, or 1 of a rank that was started again."""

    __slots__ = ("kind", "sender", "session", "to", "body")

    def __init__(self, kind, sender, session, to, body):
        self.kind = kind
        self.sender = sender
        self.session = session
        self.to = to
        self.body = body

    def is_counted(self):
        """True if the receiver acknowledges the message."""
        return self.kind in (STATE, PROGRESS, PART)


class State:
    """The newest state of a timeline: no history, and the promises that its follower does not know yet."""

    __slots__ = ("timeline", "reached", "newest", "pending", "after", "failed_from", "ended", "exports")

    def __init__(self, timeline, reached):
        self.timeline = timeline
        self.reached = reached
        self.newest = None  # the newest reached tracked record
        self.pending = []  # ascending, above `after`
        self.after = 0  # the promises up to here were told before
        self.failed_from = UNBOUNDED
        self.ended = 0
        self.exports = []
