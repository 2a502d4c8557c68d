"""A seed's history: a random program that all members know, a network that delays and reorders, and faults."""

import random

from session_collective import Collective
from session_link import ENDED
from session_member import BODY, PART_OF_COLLECTIVE, PULL, WRITE, Member, Operation
from session_memory import Buffer, Export, Life
from session_truth import Truth, Violation
from session_values import PROGRESS, STATE, Message, State

SILENCE = 40  # steps that count as a loss
FAULTY_STEPS = 300  # faults happen in these
CALM_STEPS = 2200  # by then all must be over
SLACK = 2  # messages that answer at once may exceed the window


class Draw:
    """Random numbers that are the same in all versions of Python, which promise so of this one method alone."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def randrange(self, limit):
        return int(self.random() * limit)

    def choice(self, things):
        return things[self.randrange(len(things))]

    def pair(self, things):
        """Returns two different ones."""
        first = self.randrange(len(things))
        second = (first + 1 + self.randrange(len(things) - 1)) % len(things)
        return things[first], things[second]


class Restarted:
    """A rank that was started again: it knows its own session alone, where small values are reached."""

    def __init__(self, rank):
        self.rank = rank
        self.values = {}


class World:
    def __init__(self, seed, options, log=None):
        self.options = options
        self.log = log
        self.random = Draw(seed)
        self.now = 0
        self.is_calm = False
        self.truth = Truth()
        self.counts = {}
        self.network = []
        self.under_way = {}  # (from, to): messages
        self.cuts = {}  # (from, to): until then
        self.operations = []
        self.tops = {}  # timeline: its highest value in the text
        self.collectives = []
        self.is_text_complete = False
        self.follows_at_start = self.random.random() < options.early_follows
        self.buffers = [Buffer(rank, rank, self.random.choice([1, 2])) for rank in range(options.members)]
        self.members = []
        for rank in range(options.members):
            self.members.append(Member(self, rank, [self.buffers[rank]]))
            for queue in range(options.queues):
                self.tops[(rank, queue)] = 0
        self.restarted = []
        self.slow_link = self.random.pair(range(options.members)) if self.random.random() < 0.5 else None

    def note(self, *words):
        if self.log is not None:
            self.log.append(f"{self.now:4} " + " ".join(str(word) for word in words))

    def count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    # ---- the text of the program

    def generate(self):
        draw = self.random
        kind = draw.random()
        if kind < 0.1:
            self.generate_collective()
        elif kind < 0.5:
            self.generate_use(draw.choice(self.buffers), kind)
        else:
            self.generate_body(draw.choice(self.members), draw.choice([0, 1, 1, 2]), draw.random() < 0.75)

    def add(self, member, kind, waits, signals):
        """Appends an operation to a member's program. It signals its queue's timeline."""
        queue = self.random.randrange(self.options.queues)
        signal = None
        if signals:
            name = (member.rank, queue)
            self.tops[name] += self.random.choice([1, 1, 3])
            signal = (name, self.tops[name])
        op = Operation(len(self.operations), member, queue, kind, waits, signal)
        self.operations.append(op)
        member.program.append(op)
        if self.follows_at_start:
            for name, _ in waits:
                member.session.follow(name)
        self.note(op, "queue", queue, "waits", waits, "signals", signal)
        return op

    def generate_body(self, member, wait_count, signals):
        draw = self.random
        waits = []
        for _ in range(wait_count):
            names = [name for name in self.tops if self.tops[name]]
            if names:
                name = draw.choice(names)
                waits.append((name, 1 + draw.randrange(self.tops[name])))
        receipts = self.receipts_for(member)
        if receipts and draw.random() < 0.3:
            waits.append(draw.choice(receipts))
        op = self.add(member, BODY, waits, signals)
        if not self.options.home_promises and op.signal and draw.random() < 0.4:
            other = draw.choice(self.members)
            op.signal = ((other.rank, 0), None)

    def receipts_for(self, member):
        """Returns those of the newest life of the member's buffer in the text."""
        buffer = self.buffers[member.rank]
        return buffer.lives[-1].receipts_in_text if buffer.lives else []

    def generate_collective(self):
        previous = self.collectives[-1] if self.collectives else None
        root = previous.root if previous else self.random.choice(self.members).rank
        collective = Collective(len(self.collectives) + 1, root, previous)
        self.collectives.append(collective)
        self.tops[collective.timeline] = collective.number
        for member in self.members:
            op = self.add(member, PART_OF_COLLECTIVE, [], False)
            op.collective = collective
            member.session.follow(collective.timeline)
        self.count("collectives")

    def generate_use(self, buffer, kind):
        home = self.members[buffer.home]
        life = buffer.lives[-1] if buffer.lives else None
        if not life or life.is_freed_in_text:
            life = Life(buffer, len(buffer.lives) + 1)
            buffer.lives.append(life)
            life.write = self.add(home, WRITE, [], True)
            life.write.life = life
        elif kind < 0.3:
            reader = self.random.choice([member for member in self.members if member is not home])
            op = self.add(reader, PULL, [life.write.signal], True)
            op.life = life
            life.receipts_in_text.append(op.signal)
            export = Export(life, reader.rank, op.signal)
            home.program.append(lambda: home.pool.export(export))
        else:
            life.is_freed_in_text = True
            home.program.append(life.free)

    def end_text(self):
        """Adds the last operations. Some wait for the newest promise of another member, and promise nothing. Some wait
        for a value that no operation promises, of a member of lower rank, and end when that member leaves."""
        self.is_text_complete = True
        draw, tops = self.random, dict(self.tops)
        if not self.options.leaves:
            return
        for member in self.members:
            name = draw.choice([name for name in tops if name[0] != member.rank])
            if tops[name] and draw.random() < 0.5:
                self.add(member, BODY, [(name, tops[name])], False)
        for member in self.members[1:]:
            if draw.random() < 0.3:
                name = (draw.randrange(member.rank), 0)
                self.add(member, BODY, [(name, tops[name] + 100)], draw.random() < 0.5)

    def may_leave(self, member):
        return self.options.leaves and self.is_text_complete and not member.program

    # ---- the network

    def send(self, kind, sender, to, body, session=0):
        self.network.append(Message(kind, sender.rank, session, to.rank, body))
        pair = (sender.rank, to.rank)
        if session == 0:
            self.under_way[pair] = self.under_way.get(pair, 0) + 1

    def is_linked(self, a, b):
        return self.cuts.get((a, b), 0) <= self.now

    def deliver(self):
        """Delivers any message."""
        draw = self.random
        place = draw.randrange(len(self.network))
        message = self.network[place]
        to = self.members[message.to]
        if to.state in ("dead", "gone"):
            self.remove(place)
            return
        if to.state != "up" or not self.is_linked(message.sender, message.to):
            return
        if (message.sender, message.to) == self.slow_link and draw.random() < 0.8:
            return
        if message.kind == STATE and message.session == 0 and not to.session.has_ended() and draw.random() < 0.05:
            to.session.take_state(message.sender, message.body)  # it comes once more
        self.remove(place)
        to.session.take(message)

    def remove(self, place):
        message = self.network[place]
        self.network[place] = self.network[-1]
        self.network.pop()
        if message.session == 0:
            self.under_way[(message.sender, message.to)] -= 1

    def judge_window(self):
        """The states on their way to a member that takes nothing in are bounded."""
        counts = {}
        for message in self.network:
            if message.session == 0 and message.kind in (STATE, PROGRESS):
                pair = (message.sender, message.to)
                counts[pair] = counts.get(pair, 0) + 1
        for (sender, to), count in counts.items():
            if count > self.options.window + SLACK:
                raise Violation(f"{count} states of machine {sender} are on their way to machine {to}")

    # ---- faults, and how members notice them

    def add_fault(self):
        draw = self.random
        up = [member for member in self.members if member.state == "up"]
        kind, until = draw.random(), self.now + draw.choice([10, 30, 60, 120])
        if not up:
            return
        member = draw.choice(up)
        if kind < 0.35:
            self.stop(member, until)
        elif kind < 0.55 and len(up) > 1:
            self.kill(member)
        elif kind < 0.8:
            self.cut(member, draw.choice(self.members), until)
        else:
            self.restart()

    def stop(self, member, until):
        self.truth.faults += 1
        self.count("stops")
        self.note("machine", member.rank, "is stopped until", until)
        member.state, member.wakes_at = "stopped", until

    def add_crash(self):
        left = [member for member in self.members if member.state == "up" and member.session.has_said_bye()]
        if left:
            self.kill(self.random.choice(left))

    def kill(self, member):
        """The end of a member that has left is no fault."""
        has_left = member.session.has_said_bye()
        self.truth.faults += not has_left
        self.count("crashes" if has_left else "kills")
        self.note("machine", member.rank, "is killed")
        member.state = "dead"
        self.end_streams(member)

    def end_streams(self, member):
        for other in self.members:
            if other is not member and self.random.random() < 0.7:  # shared memory has no end of file
                other.session.peers[member.rank].stream_ends_at = self.now + self.random.randrange(21)

    def cut(self, a, b, until):
        if a is b:
            return
        self.truth.faults += 1
        self.count("cuts")
        self.cuts[(a.rank, b.rank)] = until
        if self.random.random() < 0.5:
            self.cuts[(b.rank, a.rank)] = until
        self.note("the link from", a.rank, "to", b.rank, "is cut until", until)

    def restart(self):
        ranks = [other.rank for other in self.restarted]
        dead = [member for member in self.members if member.state == "dead" and member.rank not in ranks]
        if dead:
            self.restarted.append(Restarted(dead[0].rank))
            self.count("restarts")
            self.note("rank", dead[0].rank, "is started again")

    def step_restarted(self, other):
        if self.random.random() < 0.1:
            name = (other.rank, self.random.randrange(self.options.queues))
            other.values[name] = other.values.get(name, 0) + self.random.choice([1, 3])
            for member in self.members:
                if member.rank != other.rank:
                    self.send(STATE, other, member, State(name, other.values[name]), session=1)

    def watch(self):
        for listener in self.members:
            if listener.state != "up" or listener.session.has_ended():
                continue
            peers = listener.session.peers
            for rank, peer in peers.items():
                other = self.members[rank]
                if other.state == "up" and other.session.beats() and self.is_linked(rank, listener.rank):
                    if self.random.random() < 0.5:
                        peer.heard_at = self.now
            if not self.options.names_session:
                for other in self.restarted:
                    if other.rank != listener.rank:
                        peers[other.rank].heard_at = self.now
            for rank, peer in peers.items():
                self.judge_peer(listener, rank, peer)

    def judge_peer(self, listener, rank, peer):
        has_more = self.under_way.get((rank, listener.rank), 0) > 0 and self.is_linked(rank, listener.rank)
        if has_more and self.options.judges_last:
            return
        if peer.stream_ends_at is not None and self.now >= peer.stream_ends_at:
            listener.session.notice_end(rank, "the end of its stream")
        elif self.now - peer.heard_at > SILENCE and self.random.random() < 0.3:
            listener.session.notice_end(rank, "silence")

    # ---- steps

    def step(self):
        draw = self.random
        self.now += 1
        self.watch()
        if not self.is_calm and draw.random() < self.options.faults:
            self.add_fault()
        if not self.is_calm and draw.random() < self.options.crashes:
            self.add_crash()
        if not self.is_calm and draw.random() < self.options.cuts:
            self.cut(*draw.pair(self.members), self.now + 60)
        if not self.is_text_complete:
            if len(self.operations) >= self.options.operations or self.is_calm:
                self.end_text()
            elif draw.random() < 0.5:
                self.generate()
        for member in self.members:
            if member.state == "stopped" and self.now >= member.wakes_at:
                self.note("machine", member.rank, "goes on")
                member.state = "up"
        for member in self.members:
            if member.state == "up":
                member.step()
                member.session.step()
                self.end_if_over(member)
        for other in self.restarted:
            self.step_restarted(other)
        for _ in range(2 + len(self.network) // 8):
            if self.network:
                self.deliver()
        if self.now % 8 == 0:
            self.judge_window()

    def end_if_over(self, member):
        """A member's process ends after the session."""
        session = member.session
        may_end = session.phase == ENDED or (session.has_said_bye() and not self.options.serves_on)
        if may_end and member.is_over() and not member.lingers and self.random.random() < 0.3:
            self.note("machine", member.rank, "ends")
            member.state = "gone"
            self.end_streams(member)
            if not self.options.delivers_all:
                self.lose_messages(member)

    def lose_messages(self, member):
        for place in reversed(range(len(self.network))):
            if self.network[place].sender == member.rank:
                self.remove(place)

    def is_over(self):
        for member in self.members:
            if member.state in ("dead", "gone"):
                continue
            if not member.is_over():
                return False
            if self.options.leaves and not member.session.has_ended():
                return False
        return self.is_text_complete

    def run(self):
        """Raises Violation."""
        for _ in range(FAULTY_STEPS):
            self.step()
        self.is_calm = True
        self.cuts.clear()
        for member in self.members:
            member.wakes_at = 0
        for step in range(CALM_STEPS):
            self.step()
            if step % 16 == 15 and self.is_over() and not self.deaf_members():
                return
        self.judge_end()

    def deaf_members(self):
        """Returns the members that have not heard of a loss."""
        if all(member.session.lost is None for member in self.members):
            return []
        return [m for m in self.members if m.state == "up" and not m.session.has_ended()]

    def judge_end(self):
        """All must be over."""
        for op in self.operations:
            if op.member.state in ("up", "stopped") and op.state != "done":
                raise Violation(f"{op} never ends: it is {op.state}, waits {op.waits}, lost {op.member.session.lost}")
        for member in self.members:
            if member.state == "up" and self.options.leaves and not member.session.has_ended():
                raise Violation(f"machine {member.rank} never leaves")
        for member in self.deaf_members():
            raise Violation(f"machine {member.rank} never hears of the loss")
