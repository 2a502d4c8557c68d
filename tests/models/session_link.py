"""A member's end of the session: its followers and the states that they are told, the window, a loss, and leaving.

A subject is ("timeline", name) or ("axis", axis). A change marks the followers of its subject. Their peers are told the
newest state later, in the order of the changes, as far as the window of each allows.

Leaving. LEAVING is noted by each member behind all that it has asked for until then. BYE says that all promises are
over and acknowledged, and that no receipt is open: the exported memory may go. The member answers until all have said
BYE."""

from session_values import ACK, BYE, FOLLOW, FOLLOW_AXIS, LEAVING, LOST, NOTED, PART, PROGRESS, STATE
from session_values import PENDING, REACHED, UNBOUNDED, State

PROMISES_A_STATE = 2  # a message has room for so many

# Phases of leaving.
JOINED, IS_LEAVING, SAID_BYE, ENDED = range(4)


class Peer:
    """Another member, as one member sees it."""

    def __init__(self):
        self.heard_at = 0
        self.stream_ends_at = None  # its end of file arrives then
        self.in_flight = 0  # told, and not acknowledged
        self.taken = 0  # taken in, and not acknowledged to it
        self.untold = {}  # subjects in the order of their changes
        self.asks = 0  # timelines that were asked of it
        self.asked = 0  # timelines that it has asked this member for
        self.asked_when_noted = 0
        self.is_leaving = False
        self.is_to_note = False  # NOTED is owed to it
        self.has_noted = False
        self.has_left = False
        self.is_gone = False  # it has left, and is silent


class Follower:
    def __init__(self):
        self.told = 0  # promises up to here
        self.exports = set()


class Link:
    def __init__(self, member):
        self.member = member
        self.world = member.world
        self.options = member.options
        self.peers = {rank: Peer() for rank in range(self.options.members) if rank != member.rank}
        self.followers = {}  # subject: {rank: follower}
        self.followed = set()  # timelines of other members
        self.followed_late = set()  # timelines of members that this one had noted to be leaving
        self.followed_axes = set()
        self.asks = []  # (kind, rank, name) to be sent
        self.own_exports = {}  # timeline: exports of this member
        self.new_exports = {}  # timeline: those that no state has carried, where keeps_exports is off
        self.exports = {}  # of other members: buffer: {life: block}
        self.lost = None  # the rank of the lost member
        self.phase = JOINED
        self.takers = {
            FOLLOW: self.take_follow,
            FOLLOW_AXIS: self.take_follow_axis,
            STATE: self.take_state,
            PROGRESS: self.take_progress,
            PART: self.take_part,
            ACK: self.take_ack,
            LEAVING: self.take_leaving,
            NOTED: self.take_noted,
            BYE: self.take_bye,
        }

    def has_ended(self):
        return self.lost is not None or self.phase == ENDED

    def has_said_bye(self):
        return self.phase >= SAID_BYE

    def has_left(self, rank):
        return rank != self.member.rank and self.peers[rank].has_left

    def has_lost_late(self, name):
        """True for a timeline that was followed when its home was leaving, and that home was killed."""
        return name in self.followed_late and self.world.members[name[0]].state == "dead"

    def is_given_up(self):
        """True if another member counts this one as gone: it tells it nothing more."""
        members = [member for member in self.world.members if member is not self.member]
        return any(member.session.peers[self.member.rank].is_gone for member in members)

    def is_leaving(self):
        return self.phase != JOINED

    def send(self, kind, rank, body):
        self.world.send(kind, self.member, self.world.members[rank], body)

    # ---- subjects of other members

    def follow(self, name):
        """Follows a timeline from now on. False: its home has left."""
        home = name[0]
        if home == self.member.rank or name in self.followed:
            return True
        if self.peers[home].has_left:
            return False
        self.followed.add(name)
        if self.peers[home].is_leaving and not self.peers[home].is_to_note:
            self.followed_late.add(name)
        self.member.timeline(name)
        self.asks.append((FOLLOW, home, name))
        return True

    def follow_axis(self, axis):
        if axis not in self.followed_axes:
            self.followed_axes.add(axis)
            self.asks.append((FOLLOW_AXIS, axis[0], axis))

    def fails_unknown(self, home):
        """True if the values of a timeline that is not known yet have failed."""
        if self.lost is not None:
            return self.options.fails_all or home == self.lost
        return self.peers[home].has_left

    def is_severed(self, machine):
        if self.lost is not None:
            return self.options.severs
        if self.phase == ENDED and self.options.severs_at_end:
            return True
        return self.peers[machine].is_gone and self.options.left_is_closed

    def find_export(self, life):
        known = self.exports.get(life.buffer.number, {})
        if not self.options.checks_life and known:
            return known[max(known)]
        return known.get(life.number)

    # ---- subjects of this member

    def changed(self, subject):
        """Marks the followers: they do not know the newest state of the subject."""
        for rank in self.followers.get(subject, ()):
            self.put_in_line(rank, subject)

    def put_in_line(self, rank, subject):
        peer = self.peers[rank]
        if peer.is_gone or (self.lost is not None and self.options.falls_silent):
            return
        peer.untold[subject] = True
        if not self.options.keeps_window:
            self.tell(rank, subject)

    def exported(self, export):
        """Has the next state for its reader carry the export."""
        name = export.life.write.signal[0]
        self.own_exports.setdefault(name, []).append(export)
        self.new_exports.setdefault(name, []).append(export)
        self.changed(("timeline", name))

    def tell(self, rank, subject):
        self.peers[rank].untold.pop(subject, None)
        kind, name = subject
        follower = self.followers[subject][rank]
        if kind == "timeline":
            body = self.write_state(rank, name, follower)
            self.send_counted(STATE, rank, body)
            timeline = self.member.timeline(name)
            if self.untold_promises(timeline, follower):
                self.put_in_line(rank, subject)
            return
        progress = self.progress(name)
        if progress:
            self.send_counted(PROGRESS, rank, (name, progress))

    def send_counted(self, kind, rank, body):
        self.peers[rank].in_flight += 1
        self.send(kind, rank, body)

    def progress(self, axis):
        if axis not in self.member.closed:
            return self.member.tracker.get(axis, 0)
        return UNBOUNDED if self.options.tells_closed else 0

    @staticmethod
    def untold_promises(timeline, follower):
        """Returns the promises that the follower does not know, ascending."""
        above = max(timeline.reached, follower.told)
        pending = [r for r in timeline.records.values() if r.state == PENDING and r.value > above]
        return sorted(pending, key=lambda r: r.value)

    def write_state(self, rank, name, follower):
        timeline = self.member.timeline(name)
        state = State(name, timeline.reached)
        tracked = [r for r in timeline.records.values() if r.state == REACHED and r.signaller]
        if tracked:
            state.newest = max(tracked, key=lambda r: r.value).copy()
        state.after = follower.told
        promises = self.untold_promises(timeline, follower)[:PROMISES_A_STATE]
        state.pending = [record.copy() for record in promises]
        if promises:
            follower.told = promises[-1].value
        state.failed_from = timeline.failed_from
        state.ended = timeline.ended_up_to()
        state.exports = self.exports_for(rank, name, follower)
        return state

    def exports_for(self, rank, name, follower):
        if not self.options.keeps_exports:
            return [export for export in self.new_exports.pop(name, []) if export.reader == rank]
        untold = [e for e in self.own_exports.get(name, []) if e.reader == rank and e not in follower.exports]
        follower.exports.update(untold)
        return untold

    def tell_some(self):
        """Tells as much as the windows allow."""
        if self.phase == ENDED or (self.lost is not None and self.options.falls_silent):
            return
        for rank, peer in self.peers.items():
            while peer.untold and peer.in_flight < self.options.window and self.world.random.random() < 0.5:
                self.tell(rank, next(iter(peer.untold)))

    def ask(self):
        asks, self.asks = self.asks, []
        for kind, rank, name in asks:
            if kind == FOLLOW:
                self.peers[rank].asks += 1
            self.send(kind, rank, name)

    # ---- messages

    def take(self, message):
        if message.kind == LOST:
            if message.session == 0:
                self.lose(message.body, f"told by machine {message.sender}")
            return
        if message.session != 0 and self.options.names_session:
            return
        self.peers[message.sender].heard_at = self.world.now
        if (self.lost is not None and self.options.takes_nothing_in) or self.phase == ENDED:
            return
        if message.is_counted() and message.session == 0:
            self.peers[message.sender].taken += 1
        self.takers[message.kind](message.sender, message.body)
        self.acknowledge(message.sender)

    def take_part(self, _sender, word):
        self.member.parts.take(word)

    def take_follow(self, sender, name):
        self.peers[sender].asked += 1
        self.followers.setdefault(("timeline", name), {}).setdefault(sender, Follower())
        if self.options.tells_snapshot:
            self.put_in_line(sender, ("timeline", name))

    def take_follow_axis(self, sender, axis):
        self.followers.setdefault(("axis", axis), {}).setdefault(sender, Follower())
        self.world.count("followed_axes")
        if self.options.answers_progress or axis in self.member.closed:
            self.put_in_line(sender, ("axis", axis))

    def take_state(self, sender, state):
        member, rules = self.member, self.options
        timeline = member.timeline(state.timeline)
        for export in state.exports:
            self.exports.setdefault(export.life.buffer.number, {})[export.life.number] = export.life.block
        if timeline.is_final:
            return
        before, source = timeline.reached, f"a state of {state.timeline}"
        self.raise_value(timeline, state, source)
        if state.failed_from < timeline.failed_from:
            for record in timeline.fail(state.failed_from):
                if not rules.failures_teach_nothing:
                    member.learn_record(record, source)
        timeline.ended = max(timeline.ended, state.ended)
        self.keep_promises(timeline, state, source)
        member.truth.judge_value(member, state.timeline, timeline, before)
        timeline.has_snapshot = True
        if self.peers[sender].has_left:
            self.end_timeline(timeline)

    def raise_value(self, timeline, state, source):
        member = self.member
        if state.newest:
            member.learn_record(state.newest, source)
            timeline.records[state.newest.value] = state.newest
        if not self.options.joins_states:
            timeline.reached = state.reached
        if state.reached <= timeline.reached:
            return
        timeline.reached = state.reached
        for record in timeline.records.values():
            if record.value <= state.reached and record.state != REACHED:
                record.state = REACHED
                member.learn_record(record, source)

    def keep_promises(self, timeline, state, source):
        member, rules = self.member, self.options
        has_gap = state.after > timeline.reached and state.after > timeline.known
        is_external = not state.newest or state.newest.value < state.reached
        for place, record in enumerate(state.pending):
            if has_gap and rules.closes_gaps:
                member.world.count("gaps")
                break
            timeline.known = max(timeline.known, record.value)
            is_news = record.value > timeline.reached and record.value < timeline.failed_from
            if is_news and record.value not in timeline.records:
                timeline.records[record.value] = record
            if not rules.promises_teach_nothing:
                member.learn_record(record, source)
            if not rules.externals_teach_nothing and is_external and state.reached and place == 0:
                member.learn_record(record, source)

    def take_progress(self, _sender, progress):
        axis, epoch = progress
        self.member.learn(axis, epoch, "its home's progress")

    def take_ack(self, sender, count):
        peer = self.peers[sender]
        self.member.truth.judge_acknowledgement(self.member, sender, count <= peer.in_flight or peer.is_gone)
        peer.in_flight -= min(count, peer.in_flight)

    def acknowledge(self, rank):
        peer = self.peers[rank]
        at_once = peer.is_leaving and self.options.acknowledges_leaving
        if peer.taken and (peer.taken >= self.options.window // 2 or at_once) and not self.has_ended():
            self.send(ACK, rank, peer.taken)
            peer.taken = 0

    # ---- loss

    def lose(self, rank, reason):
        """Ends the session here, for good: nothing is told and nothing taken in any more."""
        if self.has_ended():
            return
        self.lost = rank
        self.world.count("losses")
        self.world.note("machine", self.member.rank, "loses machine", rank, ":", reason)
        for name, timeline in self.member.timelines.items():
            if name[0] != self.member.rank and self.fails_unknown(name[0]):
                timeline.fail(0)
        if self.options.falls_silent:
            for peer in self.peers.values():
                peer.untold.clear()
        self.member.parts.fail_all()
        if self.options.falls_mute:
            for other in self.peers:
                self.send(LOST, other, rank)

    def beats(self):
        return self.lost is None or not self.options.falls_mute

    def notice_end(self, rank, reason):
        """A member is silent, or its stream has ended: a loss, unless it has left."""
        peer = self.peers[rank]
        if not peer.has_left or not self.options.left_is_no_loss:
            self.member.truth.judge_verdict(self.member, rank, peer.has_left, reason)
            self.lose(rank, reason)
            return
        if peer.is_gone:
            return
        self.world.note("machine", self.member.rank, "finds that machine", rank, "is gone")
        peer.is_gone = True
        peer.untold.clear()
        if self.options.left_owes_nothing:
            peer.in_flight = 0
        for name, timeline in self.member.timelines.items():
            if name[0] == rank:
                self.end_timeline(timeline)

    # ---- leaving

    def take_leaving(self, sender, _nothing):
        self.peers[sender].is_leaving = True
        self.peers[sender].is_to_note = True

    def take_noted(self, sender, asks):
        self.peers[sender].has_noted = True
        self.peers[sender].asked_when_noted = asks

    def take_bye(self, sender, _nothing):
        """Fails the unreached values. A timeline without a state was followed after NOTED: its first one will come."""
        self.peers[sender].has_left = True
        for name, timeline in self.member.timelines.items():
            if name[0] == sender and (timeline.has_snapshot or not self.options.answers_late):
                self.end_timeline(timeline)

    def end_timeline(self, timeline):
        if not timeline.is_final and self.options.cancels_left:
            timeline.is_final = True
            timeline.fail(0)
            self.world.count("cancelled")

    def note_leaving(self):
        for rank, peer in self.peers.items():
            if peer.is_to_note:
                peer.is_to_note = False
                self.send(NOTED, rank, peer.asks)

    def has_finished_promises(self):
        """True if no operation is unfinished that signals a timeline, or whose axis others follow."""
        member = self.member
        for queue in member.queues:
            ops = queue.held + [op for op in queue.entered if op.state != "done"]
            if any(op.signal or op.collective for op in ops):
                return False
            if self.followers.get(("axis", queue.axis)) and ops:
                return False
        return member.parts.are_over()

    def is_settled(self):
        rules = self.options
        peers = [peer for peer in self.peers.values() if not (peer.is_gone and rules.left_owes_nothing)]
        if rules.leaves_finished and not self.has_finished_promises():
            return False
        if rules.leaves_acknowledged and any(peer.in_flight for peer in peers):
            return False
        if any(peer.untold for peer in peers):
            return False
        if rules.leaves_asked and not all(p.has_noted and p.asked >= p.asked_when_noted for p in peers):
            return False
        return self.member.pool.are_receipts_over() or not rules.leaves_read

    def leave(self):
        """Goes one phase further, if it may. The program of the member is over."""
        if self.phase == JOINED:
            self.phase = IS_LEAVING
            for rank in self.peers:
                self.send(LEAVING, rank, None)
        elif self.phase == IS_LEAVING and self.is_settled():
            self.phase = SAID_BYE
            self.world.count("byes")
            self.world.note("machine", self.member.rank, "says BYE")
            for rank in self.peers:
                self.send(BYE, rank, None)
        elif self.phase == SAID_BYE and all(peer.has_left for peer in self.peers.values()):
            self.phase = ENDED
            self.world.count("ends")
            for name, timeline in self.member.timelines.items():
                if name[0] != self.member.rank:
                    self.end_timeline(timeline)

    def step(self):
        if self.lost is None and self.phase != ENDED:
            self.ask()
            self.note_leaving()
        self.tell_some()
        if self.lost is None and self.world.may_leave(self.member):
            self.leave()
