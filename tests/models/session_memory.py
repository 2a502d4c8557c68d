"""Memory that other members read: the blocks of a member, the lives of its buffers, exports and receipts.

A buffer is written, exported to its readers, read, and freed. Then its name has a next life, in one of its blocks. A
reader learns the block of a life from the export alone. After the read it signals its receipt, a value of a timeline of
its own."""

OVER, OPEN, NEVER = "over", "open", "never"


class Block:
    def __init__(self, home):
        self.home = home
        self.contents = None  # the life whose bytes lie there; None: none, or the memory was given back
        self.last_life = None
        self.receipts = []  # (timeline, value) of all lives


class Export:
    """Of a life to one reader, made at the home."""

    def __init__(self, life, reader, receipt):
        self.life = life
        self.reader = reader
        self.receipt = receipt


class Life:
    def __init__(self, buffer, number):
        self.buffer = buffer
        self.number = number
        self.write = None  # the operation
        self.is_freed_in_text = False
        self.receipts_in_text = []
        # At its home:
        self.block = None
        self.earlier_receipts = []  # of the lives before it in its block
        self.exports = []
        self.is_freed = False

    def free(self):
        self.is_freed = True


class Buffer:
    def __init__(self, home, number, blocks):
        self.home = home
        self.number = number
        self.lives = []
        self.blocks = [Block(home) for _ in range(blocks)]


class Pool:
    """The blocks of one member."""

    def __init__(self, member, buffers):
        self.member = member
        self.buffers = buffers
        self.is_given_back = False

    def export(self, export):
        life = export.life
        life.exports.append(export)
        self.member.session.follow(export.receipt[0])
        if life.block:
            self.register(export)

    def register(self, export):
        """Adds the receipt to the life's block, and tells the reader."""
        self.member.world.count("exports")
        export.life.block.receipts.append(export.receipt)
        self.member.session.exported(export)

    def look_at_receipts(self, receipts, frontier):
        """Returns OVER if their block may be overwritten by a queue that knows this frontier; None: at once."""
        answer = OVER
        for receipt in receipts:
            state = self.look_at_receipt(receipt, frontier)
            if state == NEVER:
                return NEVER
            if state == OPEN:
                answer = OPEN
        return answer

    def look_at_receipt(self, receipt, frontier):
        member, rules = self.member, self.member.options
        timeline_id, value = receipt
        timeline = member.timeline(timeline_id)
        if timeline.reached >= value or (not rules.awaits_failed_receipts and timeline.failed_from <= value):
            return OVER
        if rules.left_has_read and member.session.has_left(timeline_id[0]):
            return OVER
        record = timeline.smallest_tracked(value)
        if rules.tells_ended:
            if timeline.ended >= value:
                return OVER
        elif record and member.has_finished(*record.signaller, asks=True):
            return OVER
        if member.session.lost is not None:
            return NEVER if rules.quarantines else OVER
        if record is None:
            return OPEN if rules.counts_receipts else OVER
        if frontier and not rules.pinned and frontier.knows(*record.signaller):
            return OVER
        return OPEN

    def are_receipts_over(self):
        receipts = [e.receipt for buffer in self.buffers for life in buffer.lives for e in life.exports]
        return self.look_at_receipts(receipts, None) == OVER

    def find_block(self, life, frontier):
        """Returns a block for the life, and OVER; or None, and why there is none. Lives of a buffer enter in order."""
        answer = NEVER
        if any(not earlier.write.queue for earlier in life.buffer.lives[: life.number - 1]):
            return None, OPEN
        for block in life.buffer.blocks:
            is_free = self.is_written_and_freed(block.last_life, frontier)
            state = self.look_at_receipts(block.receipts, frontier) if is_free else OPEN
            if state == OVER:
                return block, OVER
            if state == OPEN:
                answer = OPEN
        return None, answer

    def is_written_and_freed(self, life, frontier):
        if not life:
            return True
        written = (life.write.queue.axis, life.write.epoch)
        return life.is_freed and (frontier.knows(*written) or self.member.has_finished(*written))

    def take(self, block, life):
        life.block = block
        life.earlier_receipts = list(block.receipts)
        block.last_life = life
        for export in life.exports:
            self.register(export)

    def give_back(self):
        self.is_given_back = True
        for buffer in self.buffers:
            for block in buffer.blocks:
                block.contents = None
