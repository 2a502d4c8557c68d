"""Collectives. Each member has a part. A part starts when all have arrived. The root signals the collective's timeline
when all parts have finished, and promises nothing before. A failed part fails the timeline."""

from session_values import COLLECTIVE, PART, REACHED, Frontier, Record


class Collective:
    def __init__(self, number, root, previous):
        self.number = number  # also its value
        self.root = root
        self.previous = previous
        self.timeline = (root, COLLECTIVE)
        self.axis = (root, COLLECTIVE, 0)


class AtRoot:
    """A collective as its root knows it."""

    def __init__(self):
        self.arrived = set()
        self.ends = {}  # rank: (frontier, the part's own axis)
        self.is_reached = False
        self.has_failed = False


class Parts:
    """The collectives at one member."""

    def __init__(self, member):
        self.member = member
        self.at_root = {}  # by number
        self.collectives = {}  # by number, at the root
        self.released = set()

    def need(self, collective):
        self.collectives[collective.number] = collective
        return self.at_root.setdefault(collective.number, AtRoot())

    def has_failed(self, collective):
        timeline = self.member.timeline(collective.timeline)
        return self.member.session.has_ended() or timeline.failed_from <= collective.number

    # ---- a part

    def tell_root(self, collective, word):
        if collective.root == self.member.rank:
            self.take(word)
        else:
            self.member.session.send_counted(PART, collective.root, word)

    def arrive(self, op):
        """True if all have arrived."""
        if not op.has_arrived:
            op.has_arrived = True
            self.tell_root(op.collective, ("arrived", op.collective, self.member.rank))
        return op.collective.number in self.released

    def tell_end(self, op):
        word = ("ended", op.collective, self.member.rank, op.frontier.copy(), op.queue.axis, op.has_failed)
        self.tell_root(op.collective, word)

    # ---- the root

    def take(self, word):
        kind, collective = word[:2]
        if kind == "released":
            self.released.add(collective.number)
            return
        known = self.need(collective)
        if kind == "arrived":
            known.arrived.add(word[2])
            if len(known.arrived) == self.member.options.members:
                self.release(collective)
            return
        rank, frontier, axis, has_failed = word[2:]
        known.ends[rank] = (frontier, axis)
        if has_failed:
            self.fail(collective)
        self.reach_if_over(collective)

    def release(self, collective):
        self.released.add(collective.number)
        for rank in range(self.member.options.members):
            if rank != self.member.rank:
                self.member.session.send_counted(PART, rank, ("released", collective))

    def fail(self, collective):
        known = self.need(collective)
        if known.has_failed or known.is_reached:
            return
        known.has_failed = True
        self.member.timeline(collective.timeline).fail(collective.number)
        self.member.session.changed(("timeline", collective.timeline))

    def fail_all(self):
        for number in list(self.collectives):
            self.fail(self.collectives[number])

    def reach_if_over(self, collective):
        member, rules = self.member, self.member.options
        known = self.need(collective)
        has_all = len(known.ends) == rules.members if rules.collective_awaits_all else member.rank in known.ends
        if known.is_reached or known.has_failed or member.session.lost is not None or not has_all:
            return
        if rules.collectives_in_order and collective.previous:
            before = self.need(collective.previous)
            if before.has_failed:
                self.fail(collective)
            if not before.is_reached:
                return
        timeline = member.timeline(collective.timeline)
        known.is_reached = True
        if timeline.failed_from <= collective.number:
            return
        self.reach(collective, known, timeline)
        following = self.collectives.get(collective.number + 1)
        if following:
            self.reach_if_over(following)

    def reach(self, collective, known, timeline):
        member = self.member
        frontier = Frontier()
        for part, axis in known.ends.values():
            others = {a: e for a, e in part.entries.items() if a != axis}
            member.merge(frontier, Frontier(others, part.tainted), None)
        frontier.entries[collective.axis] = collective.number
        self.judge(collective)
        signaller = (collective.axis, collective.number)
        record = Record(collective.number, frontier, signaller, REACHED)
        record.is_over = True
        timeline.records[collective.number] = record
        timeline.reached = max(timeline.reached, collective.number)
        member.truth.reach(collective.timeline, timeline.reached)
        member.learn_record(record, "a collective")
        member.session.changed(("timeline", collective.timeline))

    def judge(self, collective):
        """Tells the judge that the epoch has finished, if all parts of it and of those before have."""
        all_parts = [op for op in self.member.world.operations if op.collective]
        if all(op.state == "done" for op in all_parts if op.collective.number <= collective.number):
            self.member.truth.finish(collective.axis, collective.number)

    def are_over(self):
        """True if all values that this member promises as a root are reached or have failed."""
        for collective in self.collectives.values():
            timeline = self.member.timeline(collective.timeline)
            if timeline.reached < collective.number < timeline.failed_from:
                return False
        return True
