"""One member: how operations enter its queues, start and finish. All decisions follow from its tracker and from its
timelines, some of which are mirrors."""

from session_collective import Parts
from session_link import Link
from session_memory import NEVER, OPEN, Pool
from session_values import FAILED, PENDING, REACHED, UNBOUNDED, Frontier, Record, Timeline

# Kinds of operations. A write begins a life of a buffer, a pull reads one on another member.
BODY, WRITE, PULL, PART_OF_COLLECTIVE = "body", "write", "pull", "collective"


class Operation:
    def __init__(self, number, member, queue, kind, waits, signal):
        self.number = number
        self.member = member
        self.queue_index = queue
        self.kind = kind
        self.waits = waits  # [(timeline, value)]
        self.signal = signal  # (timeline, value) or None; value None: one more than the member knows
        self.life = None  # of a write or a pull
        self.collective = None
        self.state = "submitted"  # then "queued", "running", "done"
        self.has_failed = False
        self.was_refused = False  # a timeline of its waits belongs to a member that had left already
        # From the entry on:
        self.queue = None
        self.epoch = 0
        self.known = None  # a frontier: all of it is over when the operation starts
        self.frontier = None  # the same with its own epoch
        self.classes = []
        self.imports = []  # signallers
        self.block = None  # that a pull reads
        self.has_arrived = False  # at its collective

    def __str__(self):
        return f"operation {self.number} ({self.kind}) of machine {self.member.rank}"


class WaitClass:
    """How a wait is treated: "resolved", "elided", "issued" or "failed"."""

    __slots__ = ("kind", "timeline", "value")

    def __init__(self, kind, timeline, value):
        self.kind = kind
        self.timeline = timeline
        self.value = value


class Queue:
    """Operations of a queue finish in order."""

    def __init__(self, machine, index, ordinal):
        self.index = index
        self.ordinal = ordinal
        self.axis = (machine, index, ordinal)
        self.frontier = Frontier()
        self.epoch = 0
        self.entered = []
        self.held = []
        self.is_destroyed = False

    def unfinished(self):
        return next((op for op in self.entered if op.state != "done"), None)


class Member:
    def __init__(self, world, rank, buffers):
        self.world = world
        self.options = world.options
        self.truth = world.truth
        self.rank = rank
        self.state = "up"  # or "stopped", "dead": it was killed, "gone": it has ended well
        self.wakes_at = 0
        self.submit_rate = world.random.choice([0.5, 0.5, 0.1])
        self.lingers = world.random.random() < 0.3  # its process goes on after the session
        self.tracker = {}  # axis: finished epoch
        self.closed = set()  # its own axes that are closed
        self.timelines = {}
        self.queues = [Queue(rank, index, 0) for index in range(self.options.queues)]
        self.program = []  # still to be submitted
        self.parts = Parts(self)
        self.session = Link(self)
        self.pool = Pool(self, buffers)

    # ---- knowledge

    def timeline(self, name):
        found = self.timelines.get(name)
        if found is None:
            found = self.timelines[name] = Timeline()
            if name[0] != self.rank and self.session.fails_unknown(name[0]):
                found.fail(1)
        return found

    def has_finished(self, axis, epoch, asks=False):
        """True if the epoch is known to have finished, or holds up nothing any more. Else `asks` follows the axis."""
        if self.tracker.get(axis, 0) >= epoch:
            return True
        if axis[0] == self.rank:
            return False
        if self.session.is_severed(axis[0]):
            return True
        if asks and self.options.follows_progress:
            self.session.follow_axis(axis)
        return False

    def learn(self, axis, epoch, source):
        if self.tracker.get(axis, 0) < epoch:
            self.truth.judge_lesson(self, axis, epoch, source)
            self.tracker[axis] = epoch
            self.world.count("learned")

    def learn_record(self, record, source):
        if record.frontier:
            for axis, epoch in record.frontier.entries.items():
                self.learn(axis, epoch, source)

    # ---- frontiers

    def insert(self, frontier, axis, epoch, own):
        """Raises an entry. A full frontier loses a finished one, or else the smallest, which taints it."""
        entries = frontier.entries
        if entries.get(axis, 0) >= epoch:
            return
        entries[axis] = epoch
        if len(entries) <= self.options.capacity:
            return
        for other in entries:
            if other != own and self.has_finished(other, entries[other]):
                del entries[other]
                return
        del entries[min((a for a in entries if a != own), key=lambda a: (entries[a], a))]
        frontier.tainted = True

    def merge(self, frontier, other, own):
        for axis, epoch in other.entries.items():
            self.insert(frontier, axis, epoch, own)
        frontier.tainted |= other.tainted

    # ---- entry

    def classify(self, frontier, name, value):
        """Returns the wait's class, None: held, and the record that it imports, if any."""
        timeline = self.timeline(name)
        if timeline.reached >= value:
            return WaitClass("resolved", name, value), timeline.smallest_tracked(value, REACHED)
        if timeline.failed_from <= value:
            return WaitClass("failed", name, value), None
        record = timeline.smallest(value, PENDING)
        if not record:
            return None, None
        if record.signaller and self.is_satisfied(record, frontier):
            return WaitClass("elided", name, value), record
        if record.value == value or not self.options.waits_exactly:
            return WaitClass("issued", name, record.value), record
        return WaitClass("issued", name, value), None

    def is_satisfied(self, record, frontier):
        axis, epoch = record.signaller
        return frontier.knows(axis, epoch) or self.tracker.get(axis, 0) >= epoch

    def enter(self, queue, op):
        """Queues an operation. False: it is held. A failed wait comes before a held one."""
        frontier = queue.frontier.copy()
        found = [self.classify(frontier, name, value) for name, value in op.waits]
        fails = op.was_refused or any(c and c.kind == "failed" for c, _ in found)
        if not fails and any(c is None for c, _ in found):
            return False
        block = None
        if op.kind == WRITE:
            block, answer = self.pool.find_block(op.life, frontier)
            if answer == OPEN:
                return False
            if answer == NEVER:
                fails = True
                self.world.count("quarantined")
        elif op.kind == PULL and not fails:
            block = self.session.find_export(op.life)
            if not block:
                if not self.session.has_ended():
                    return False
                fails = True
        op.classes = [c for c, _ in found if c]
        for c in op.classes:
            self.world.count(c.kind)
        imports = [record for c, record in found if c and record]
        for record in imports:
            self.merge(frontier, record.frontier, queue.axis)
        op.imports = [record.signaller for record in imports]
        op.has_failed = fails
        op.block = block
        self.take_place(queue, op, frontier)
        if op.kind == WRITE and block:
            self.pool.take(block, op.life)
        return True

    def take_place(self, queue, op, frontier):
        op.known = frontier
        queue.epoch += 1
        op.queue, op.epoch, op.state = queue, queue.epoch, "queued"
        op.frontier = frontier.copy()
        self.insert(op.frontier, queue.axis, queue.epoch, queue.axis)
        queue.frontier = op.frontier.copy()
        queue.entered.append(op)
        waits = [(c.kind, c.value) for c in op.classes]
        self.world.note(op, "enters as", queue.axis, op.epoch, "knows", op.known.entries, waits)
        if op.signal:
            self.promise(op)

    def promise(self, op):
        name, value = op.signal
        timeline = self.timeline(name)
        if value is None:  # a promise of another member's value
            newest = timeline.newest_pending()
            if timeline.failed_from != UNBOUNDED or (newest and not self.is_satisfied(newest, op.frontier)):
                op.signal = None
                return
            value = max([timeline.reached] + list(timeline.records)) + 1
            op.signal = (name, value)
        self.truth.judge_promise(op, name, value, name[0] == self.rank)
        state = FAILED if timeline.failed_from <= value else PENDING
        timeline.records[value] = Record(value, op.frontier, (op.queue.axis, op.epoch), state)
        self.session.changed(("timeline", name))

    # ---- start and end

    def settle_waits(self, op):
        """True if all waits are settled; a failed one fails the operation."""
        for found in op.classes:
            if found.kind == "failed":
                op.has_failed = True
                continue
            timeline = self.timeline(found.timeline)
            if (found.kind == "elided" and not self.options.settles_elided) or timeline.reached >= found.value:
                continue
            if timeline.failed_from > found.value:
                return False
            op.has_failed = True
        return True

    def next_step(self, op):
        """Returns "start", "fail", or None: it waits."""
        if not self.settle_waits(op):
            return None
        if op.kind == PART_OF_COLLECTIVE and self.parts.has_failed(op.collective):
            op.has_failed = True
        if op.kind == WRITE and not op.has_failed and self.options.looks_again and not self.options.pinned:
            state = self.pool.look_at_receipts(op.life.earlier_receipts, None)
            if state == OPEN:
                return None
            if state == NEVER:
                op.has_failed = True
                self.world.count("quarantined")
        if op.has_failed:
            entries = list(op.known.entries.items()) if self.options.fails_in_place else op.imports
            unfinished = [entry for entry in entries if not self.has_finished(*entry, asks=True)]
            return None if unfinished else "fail"
        if op.kind == PART_OF_COLLECTIVE and not self.parts.arrive(op):
            return None
        return "start"

    def start(self, op):
        self.world.note(op, "starts")
        op.state = "running"
        self.truth.judge_start(op)
        if op.kind == WRITE:
            op.life.block.contents = op.life
            self.world.count("reused" if op.life.number > 1 else "written")

    def fail(self, op):
        self.truth.judge_failure(op)
        self.finish(op)

    def end_body(self, op):
        if self.world.random.random() < self.options.failures:
            op.has_failed = True
        elif op.kind == PULL:
            self.read(op)
        self.finish(op)

    def read(self, op):
        """Reads the block. The pull fails if the endpoint of the home is closed, or the home has ended."""
        home = self.world.members[op.block.home]
        is_closed = home.pool.is_given_back and home.session.lost is not None and self.options.closes_endpoints_first
        if home.state in ("dead", "gone") or is_closed:
            op.has_failed = True
            return
        self.truth.judge_pull(op, op.block)
        self.world.count("pulled")

    def finish(self, op):
        self.world.note(op, "has failed" if op.has_failed else "has ended well")
        op.state = "done"
        queue = op.queue
        self.world.count("failed_operations" if op.has_failed else "operations")
        self.truth.finish(queue.axis, op.epoch)
        self.tracker[queue.axis] = max(self.tracker.get(queue.axis, 0), op.epoch)
        self.session.changed(("axis", queue.axis))
        if op.kind == PART_OF_COLLECTIVE:
            self.parts.tell_end(op)
        if op.signal:
            self.signal(op)

    def signal(self, op):
        name, value = op.signal
        timeline = self.timeline(name)
        record = timeline.records[value]
        record.is_over = True
        if op.has_failed:
            timeline.fail(timeline.reached + 1)
        elif timeline.failed_from > value:
            timeline.reached = max(timeline.reached, value)
            record.state = REACHED
            self.truth.reach(name, value)
        self.session.changed(("timeline", name))

    # ---- the host, and the queues' ends

    def signal_from_host(self, name):
        """Signals the next value, if it is below all promises of the program, or fails the timeline."""
        timeline, draw = self.timeline(name), self.world.random
        value = timeline.reached + 1
        if timeline.failed_from != UNBOUNDED or self.session.is_leaving():
            return
        mine = [op for op in self.world.operations if op.member is self and op.state != "done"]
        promised = [op.signal[1] for op in mine if op.signal and op.signal[0] == name and op.signal[1]]
        if promised and value < min(promised) and value not in timeline.records:
            timeline.records[value] = Record(value, None, None, REACHED)
            timeline.reached = value
            self.truth.reach(name, value)
            self.world.note("the host signals", name, value)
        elif draw.random() < 0.1:
            timeline.fail(value)
            self.world.note("the host fails", name)
        else:
            return
        self.session.changed(("timeline", name))

    def destroy_queue(self, queue):
        """A new queue takes its place when all is over in it, so that the timeline's promises stay in order."""
        queue.is_destroyed = True
        self.world.note("queue", queue.axis, "is destroyed")
        if not self.options.closes_when_over:
            self.close(queue.axis)

    def close(self, axis):
        self.closed.add(axis)
        self.session.changed(("axis", axis))

    def replace_queue(self, queue):
        self.truth.finish(queue.axis, UNBOUNDED)
        self.tracker[queue.axis] = UNBOUNDED
        self.close(queue.axis)
        self.world.count("closed")
        new = Queue(self.rank, queue.index, queue.ordinal + 1)
        new.held = queue.held
        self.queues[queue.index] = new

    # ---- one step

    def step(self):
        draw = self.world.random
        if self.program and draw.random() < self.submit_rate:
            self.submit(self.program.pop(0))
        ready = []
        for queue in list(self.queues):
            op = queue.unfinished()
            if queue.is_destroyed and not op:
                self.replace_queue(queue)
                continue
            while queue.held and not queue.is_destroyed and self.enter(queue, queue.held[0]):
                queue.held.pop(0)
            op = queue.unfinished()
            if op:
                action = "end" if op.state == "running" else self.next_step(op)
                if action:
                    ready.append((op, action))
        if ready and draw.random() < 0.5:
            self.act(*draw.choice(ready))
        if self.world.is_calm:
            return
        if draw.random() < 0.03:
            self.signal_from_host((self.rank, draw.randrange(self.options.queues)))
        if draw.random() < 0.01:
            queue = draw.choice(self.queues)
            if queue.epoch and not queue.is_destroyed and not self.session.is_leaving():
                self.destroy_queue(queue)
        may_give_back = self.session.lost is not None or self.session.has_said_bye()
        if may_give_back and not self.pool.is_given_back and draw.random() < 0.02:
            self.world.note("machine", self.rank, "gives its exported memory back")
            self.pool.give_back()

    def submit(self, item):
        """Takes one item of the program: an operation, or a call of the host between two."""
        if callable(item):
            item()
            return
        for name, _ in item.waits:
            if not self.session.follow(name):
                item.was_refused = True
        self.queues[item.queue_index].held.append(item)

    def act(self, op, action):
        if action == "start":
            self.start(op)
        elif action == "fail":
            self.fail(op)
        elif self.world.random.random() < self.pace(op):
            self.end_body(op)

    @staticmethod
    def pace(op):
        """Half of the pulls take long, and a fifth of the others."""
        is_slow = op.number % (2 if op.kind == PULL else 5) == 0
        return 0.03 if is_slow else 0.5

    def is_over(self):
        return not self.program and all(not q.held and not q.unfinished() for q in self.queues)
