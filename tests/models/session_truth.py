"""The judge: the truth about the whole session at once, and the acts that no member may do. The rules do not see it."""

from session_values import UNBOUNDED


class Violation(Exception):
    pass


class Truth:
    def __init__(self):
        self.finished = {}  # axis: its finished epoch
        self.reached = {}  # timeline: its value
        self.promised = {}  # timeline: its newest promise, and the promising (axis, epoch)
        self.faults = 0  # that have happened

    def finish(self, axis, epoch):
        self.finished[axis] = max(self.finished.get(axis, 0), epoch)

    def has_finished(self, axis, epoch):
        return self.finished.get(axis, 0) >= epoch

    def reach(self, timeline, value):
        self.reached[timeline] = max(self.reached.get(timeline, 0), value)

    def has_reached(self, timeline, value):
        return self.reached.get(timeline, 0) >= value

    # ---- acts of members

    def judge_lesson(self, member, axis, epoch, source):
        if not self.has_finished(axis, epoch):
            name = "the end" if epoch == UNBOUNDED else f"epoch {epoch}"
            raise Violation(f"machine {member.rank} learns {name} of axis {axis} from {source}: it has not finished")

    def judge_promise(self, op, timeline, value, is_home):
        """Promises of a timeline increase, and are ordered: another member's operation knows the one before."""
        before = self.promised.get(timeline)
        if before:
            is_ordered = is_home or op.frontier.knows(*before[1]) or self.has_finished(*before[1])
            if value <= before[0] or not is_ordered:
                raise Violation(f"{op} promises {timeline} = {value} and does not know the promise {before[0]}")
        self.promised[timeline] = (value, (op.queue.axis, op.epoch))

    def judge_start(self, op):
        """Once the session has ended here, entries of other machines are void. Those of this one never are."""
        session = op.member.session
        for axis, epoch in op.known.entries.items():
            is_void = session.has_ended() and axis[0] != op.member.rank
            if not is_void and not self.has_finished(axis, epoch):
                raise Violation(f"{op} starts, and its frontier lists epoch {epoch} of axis {axis}, which runs")
        for wait in op.classes:
            if wait.kind != "failed" and not self.has_reached(wait.timeline, wait.value):
                raise Violation(f"{op} starts: its {wait.kind} wait for {wait.timeline} = {wait.value} is not reached")

    def judge_failure(self, op):
        """Before a loss an operation fails by an unreached value alone. Other causes are a refusal, a timeline that was
        followed too late for its home, which crashed, and a silence after this member's own BYE."""
        session = op.member.session
        is_excused = op.was_refused or any(session.has_lost_late(name) for name, _ in op.waits)
        if session.lost is not None or op.collective or is_excused or session.is_given_up():
            return
        if all(self.has_reached(name, value) for name, value in op.waits):
            raise Violation(f"{op} fails, and all its waits are reached: {op.waits}")

    def judge_pull(self, op, block):
        if block.contents is not op.life:
            name = f"life {block.contents.number}" if block.contents else "memory that was given back"
            raise Violation(f"{op} has read {name} of a buffer of machine {block.home}: not life {op.life.number}")

    def judge_value(self, member, name, timeline, before):
        """After a state was taken in."""
        if timeline.reached < before:
            raise Violation(f"machine {member.rank}: {name} = {before} is reached, then it is not")
        if timeline.reached >= timeline.lowest_failed:
            raise Violation(f"machine {member.rank}: {name} = {timeline.lowest_failed} has failed, then it is reached")

    def judge_verdict(self, member, rank, has_left, reason):
        if has_left:
            raise Violation(f"machine {member.rank} counts machine {rank}, which has left, as lost: {reason}")
        if not self.faults:
            raise Violation(f"machine {member.rank} counts machine {rank} as lost without a fault: {reason}")

    def judge_acknowledgement(self, member, rank, is_due):
        if not is_due:
            raise Violation(f"machine {rank} acknowledges more than machine {member.rank} has told")
