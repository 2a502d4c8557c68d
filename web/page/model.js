// What was recorded, ready to be asked about any step. Nothing here decides anything: the core did.

// enum tide_event_kind
export const KIND = {
  SUBMIT: 1, HOLD: 2, ENTER: 3, WAIT: 4, START: 5, FINISH: 6, PUBLISH: 7, SIGNAL: 8, FAIL: 9,
  HOST_WAIT: 10, ALLOC: 11, FREE: 12, BREAK: 13, GAP: 16, KEPT: 17, OUT: 18, PRIORITY: 32,
};
export const CLASSES = ["failed", "resolved", "elided", "issued", "held"];
// Who keeps an issued wait, by enum tide_primitive.
const KEEPERS = ["the host has waited", "another wait of the device brings the one", "the device has a barrier",
  "the device has a native wait", "the device has a wait that is over, which orders memory,"];
export const NONE = 0xffffffff;
const NEVER = 0x7fffffff;

// What an operation is doing.
export const STATE = { AWAY: 0, HELD: 1, WAITING: 2, RUNNING: 3, OVER: 4, FAILED: 5 };

const decoder = new TextDecoder();

// The first index in a sorted list whose `key` is above `limit`.
function above(list, limit, key) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

export class Model {
  constructor(core, run) {
    this.core = core;
    this.tables = run.tables;
    this.result = run.result;
    this.took = run.took;
    this.told = new Map();
    this.readOperations();
    this.readLog();
    this.readTimelines();
    this.readBuffers();
  }

  // ---- reading ---------------------------------------------------------------------------

  readOperations() {
    const { at, count, size, buffer } = this.core.view("operations");
    const doubles = new Float64Array(buffer);
    const words = new Uint32Array(buffer);
    const names = this.core.view("names");
    const bytes = new Uint8Array(buffer, names.at, names.count);
    const frontiers = this.core.view("frontiers");
    this.frontiers = new Float64Array(buffer, frontiers.at, frontiers.count).slice();
    this.operations = new Array(count);
    this.byQueue = this.tables.queues.map(() => []);
    this.byEpoch = this.tables.queues.map(() => []);
    for (let i = 0; i < count; i++) {
      const d = (at + i * size) >> 3;
      const w = (at + i * size + 24) >> 2;
      const op = {
        number: i,
        submitted: doubles[d], start: doubles[d + 1], end: doubles[d + 2],
        queue: words[w], sequence: words[w + 1], epoch: words[w + 2],
        line: words[w + 3], column: words[w + 4],
        name: decoder.decode(bytes.subarray(words[w + 5], words[w + 5] + words[w + 6])),
        firstWait: words[w + 7], waitCount: words[w + 8],
        firstSignal: words[w + 9], signalCount: words[w + 10],
        firstUse: words[w + 11], useCount: words[w + 12],
        known: words[w + 13], collective: words[w + 14], instance: words[w + 15],
        held: words[w + 16] === 1, status: words[w + 17], after: words[w + 18],
        submitAt: NEVER, holdAt: NEVER, enterAt: NEVER, startAt: NEVER, finishAt: NEVER, overAt: NEVER,
      };
      this.operations[i] = op;
      this.byQueue[op.queue].push(op);
      if (op.epoch) this.byEpoch[op.queue][op.epoch] = op;
    }
    this.readWaits();
  }

  readWaits() {
    const read = (name, make) => {
      const { at, count, size, buffer } = this.core.view(name);
      const doubles = new Float64Array(buffer);
      const words = new Uint32Array(buffer);
      const list = new Array(count);
      for (let i = 0; i < count; i++) list[i] = make(doubles, (at + i * size) >> 3, words, (at + i * size) >> 2);
      return list;
    };
    this.waits = read("waits", (doubles, d, words, w) => ({
      value: doubles[d], record: doubles[d + 1],
      timeline: words[w + 4], cause: words[w + 5], class: words[w + 6], reason: words[w + 7],
    }));
    this.values = read("values", (doubles, d, words, w) => ({
      value: doubles[d], timeline: words[w + 2], operation: words[w + 3],
    }));
    this.uses = read("uses", (doubles, d, words, w) => ({ buffer: words[w], access: words[w + 1] }));
  }

  // When, in the log, each operation came to each state; and where steps begin.
  readLog() {
    const { at, count, size, buffer } = this.core.view("log");
    const copy = buffer.slice(at, at + count * size);
    this.logDoubles = new Float64Array(copy);
    this.logWords = new Uint32Array(copy);
    this.logCount = count;
    const steps = [];
    this.entered = this.tables.queues.map(() => []);
    this.levels = this.tables.queues.map(() => []); // where its priority changes
    for (let i = 0; i < count; i++) {
      const packed = this.logWords[i * 8 + 4];
      const kind = packed & 255;
      const op = this.operations[this.logWords[i * 8 + 5]];
      if (kind === KIND.PRIORITY) this.levels[this.logWords[i * 8 + 6]].push(i);
      if (packed >>> 24 || i === 0) steps.push(i);
      if (!op) continue;
      if (kind === KIND.SUBMIT) op.submitAt = i;
      else if (kind === KIND.HOLD) op.holdAt = i;
      else if (kind === KIND.ENTER) {
        op.enterAt = i;
        this.entered[op.queue].push(i);
      } else if (kind === KIND.START) op.startAt = i;
      else if (kind === KIND.FINISH) op.finishAt = i;
      else if (kind === KIND.PUBLISH) op.overAt = i;
    }
    steps.push(count);
    this.steps = Int32Array.from(steps); // step s is over when the log stands before steps[s]
    this.stepCount = steps.length - 1;
    this.end = count ? this.logDoubles[(count - 1) * 4] : 0;
  }

  entry(i) {
    const packed = this.logWords[i * 8 + 4];
    return {
      index: i,
      time: this.logDoubles[i * 4], value: this.logDoubles[i * 4 + 1],
      kind: packed & 255, class: (packed >>> 8) & 255, reason: (packed >>> 16) & 255,
      operation: this.logWords[i * 8 + 5], object: this.logWords[i * 8 + 6],
      frontier: this.logWords[i * 8 + 7],
    };
  }

  // Of each timeline its records by value: who makes them, when they were promised and reached.
  readTimelines() {
    const lines = this.tables.timelines.map(() => new Map());
    for (const value of this.values) {
      const op = this.operations[value.operation];
      lines[value.timeline]?.set(value.value, {
        value: value.value, operation: op.number, promisedAt: op.enterAt, reachedAt: NEVER,
        failedAt: NEVER, frontier: 0,
      });
    }
    for (let i = 0; i < this.logCount; i++) {
      const kind = this.logWords[i * 8 + 4] & 255;
      if (kind !== KIND.SIGNAL && kind !== KIND.FAIL) continue;
      const line = lines[this.logWords[i * 8 + 6]];
      if (!line) continue;
      const value = this.logDoubles[i * 4 + 1];
      let record = line.get(value);
      if (!record && kind === KIND.SIGNAL) {
        record = { value, operation: this.logWords[i * 8 + 5], promisedAt: i, reachedAt: NEVER, failedAt: NEVER, frontier: 0 };
        line.set(value, record);
      }
      if (!record) continue;
      if (kind === KIND.SIGNAL) record.reachedAt = i;
      else record.failedAt = i;
      record.frontier = this.logWords[i * 8 + 7];
      record.external = kind === KIND.SIGNAL && !record.frontier;
    }
    this.lines = lines.map((line) => [...line.values()].sort((a, b) => a.value - b.value));
  }

  readBuffers() {
    this.memory = this.tables.buffers.map(() => []);
    this.namedBy = this.tables.buffers.map(() => []);
    for (let i = 0; i < this.logCount; i++) {
      const kind = this.logWords[i * 8 + 4] & 255;
      if (kind !== KIND.ALLOC && kind !== KIND.FREE) continue;
      const reuse = (this.logWords[i * 8 + 4] >>> 8) & 255;
      const list = this.memory[this.logWords[i * 8 + 6]];
      const queue = this.logDoubles[i * 4 + 1];
      if (list)
        list.push({ at: i, alloc: kind === KIND.ALLOC, reuse, queue, free: this.logWords[i * 8 + 7] });
    }
    for (const op of this.operations)
      for (let u = 0; u < op.useCount; u++) this.namedBy[this.uses[op.firstUse + u].buffer]?.push(op);
  }

  // ---- frontiers -------------------------------------------------------------------------

  frontier(offset) {
    if (!offset) return null;
    const entries = [];
    for (let i = 0; i < this.frontiers[offset]; i++)
      entries.push({ axis: this.frontiers[offset + 2 + 2 * i], epoch: this.frontiers[offset + 3 + 2 * i] });
    return { entries, tainted: this.frontiers[offset + 1] === 1 };
  }

  // What the next operation of its queue may take for granted: mostly what this one knew, and itself.
  after(op) {
    if (op.after !== NONE) return this.frontier(op.after);
    const entries = [...(this.frontier(op.known)?.entries ?? [])];
    const own = entries.findIndex((e) => e.axis === op.queue);
    entries.splice(own < 0 ? entries.length : own, 1, { axis: op.queue, epoch: op.epoch });
    return { entries, tainted: this.frontier(op.known)?.tainted ?? false };
  }

  // What the records will say that it leaves: that, and itself, which a queue out of order does not take for granted.
  recordOf(op) {
    const { entries, tainted } = this.after(op);
    const own = entries.some((e) => e.axis === op.queue && e.epoch === op.epoch);
    return { entries: own ? entries : [...entries.filter((e) => e.axis !== op.queue), { axis: op.queue, epoch: op.epoch }], tainted };
  }

  // How far a frontier knows an axis.
  knows(offset, axis) {
    if (!offset) return 0;
    const count = this.frontiers[offset];
    for (let i = 0; i < count; i++)
      if (this.frontiers[offset + 2 + 2 * i] === axis) return this.frontiers[offset + 3 + 2 * i];
    return 0;
  }

  axisName(axis) {
    const { queues, collectives } = this.tables;
    if (axis < queues.length) return queues[axis].label;
    return collectives[axis - queues.length]?.label ?? "the host";
  }

  operationName(number) {
    const op = this.operations[number];
    return op ? this.tables.queues[op.queue].label + "@" + (op.epoch || op.sequence) : "the host";
  }

  // Is `other` in what `op` knows when it starts? By a queue's own entry, or a collective's.
  inPast(op, other) {
    if (!op.known || !other.epoch) return false;
    if (this.knows(op.known, other.queue) >= other.epoch) return true;
    if (other.collective === NONE) return false;
    return this.knows(op.known, this.tables.queues.length + other.collective) >= other.instance;
  }

  // What the core says about an operation: the text of `tidemark explain --json`.
  tell(number) {
    if (!this.told.has(number)) {
      if (this.told.size > 2000) this.told.clear();
      this.told.set(number, this.core.operation(number));
    }
    return this.told.get(number);
  }

  waitsOf(op) {
    return this.waits.slice(op.firstWait, op.firstWait + op.waitCount);
  }

  usesOf(op) {
    return this.uses.slice(op.firstUse, op.firstUse + op.useCount);
  }

  // ---- at a place of the log ---------------------------------------------------------------

  at(step) {
    return this.steps[Math.max(0, Math.min(step, this.stepCount))];
  }

  stepOf(entry) {
    let low = 0;
    let high = this.stepCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle] > entry) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  time(step) {
    const at = this.at(step);
    return at ? this.logDoubles[(at - 1) * 4] : 0;
  }

  state(op, at) {
    if (op.overAt < at || op.finishAt < at) return op.status ? STATE.FAILED : STATE.OVER;
    if (op.startAt < at) return STATE.RUNNING;
    if (op.enterAt < at) return STATE.WAITING;
    if (op.submitAt < at) return STATE.HELD;
    return STATE.AWAY;
  }

  // What the newest operation that entered a queue knew, and itself; and the priority that the arbiter goes by.
  queueAt(queue, at) {
    const entered = this.entered[queue];
    const count = above(entered, at - 1, (i) => i);
    const levels = this.levels[queue];
    const changes = above(levels, at - 1, (i) => i);
    const last = count ? this.operations[this.logWords[entered[count - 1] * 8 + 5]] : null;
    const priority = changes ? this.logDoubles[levels[changes - 1] * 4 + 1] : this.tables.queues[queue].priority;
    return { last, priority };
  }

  // value, the records that are reached and those that are pending, and what became of taint.
  timelineAt(index, at) {
    const line = this.lines[index];
    const table = this.tables.timelines[index];
    const reached = line.filter((r) => r.reachedAt < at);
    const failed = line.find((r) => r.failedAt < at);
    const most = failed ? failed.value : Infinity; // from there on nothing comes any more
    const pending = line.filter((r) => r.promisedAt < at && r.reachedAt >= at && r.value < most && r.value > (reached.at(-1)?.value ?? -1));
    const value = reached.length ? reached.at(-1).value : table.initial;
    const outside = reached.filter((r) => r.external).at(-1);
    const healed = outside && line.find((r) => !r.external && r.value >= outside.value && r.promisedAt < at);
    return { value, reached, pending, failed, outside, healed };
  }

  // For a buffer: who named it last on each queue, and who may have its memory, as the pool says.
  bufferAt(index, at) {
    const list = this.memory[index];
    const turn = above(list, at - 1, (m) => m.at) - 1;
    const now = list[turn];
    const since = now && now.alloc ? now.at : turn > 0 ? list[turn - 1].at : -1;
    const last = new Map();
    const named = this.namedBy[index];
    for (const op of named)
      if (op.enterAt < at && op.enterAt > since && (!now || now.alloc || op.enterAt < now.at || op.submitAt < now.at)) {
        const before = last.get(op.queue);
        if (!before || before.epoch < op.epoch) last.set(op.queue, op);
      }
    const takers = now && !now.alloc ? this.core.reuse(now.free, at) : null;
    return { now, uses: [...last.values()].map((op) => op.number), takers };
  }

  // ---- sentences ------------------------------------------------------------------------------

  frontierText(frontier) {
    const names = (frontier?.entries ?? []).map((e) => this.axisName(e.axis) + "@" + e.epoch);
    return "{" + names.join(", ") + "}" + (frontier?.tainted ? " ~" : "");
  }

  sentence(i) {
    const e = this.entry(i);
    const op = this.operations[e.operation];
    const name = op ? this.operationName(op.number) : "";
    const line = this.tables.timelines[e.object]?.label ?? "an event";
    const buffer = this.tables.buffers[e.object]?.label ?? "a buffer";
    switch (e.kind) {
      case KIND.SUBMIT: return `${name} is submitted: ${op.name}`;
      case KIND.HOLD: return `${name} is held: nobody has promised what it waits for`;
      case KIND.WAIT: return `${name} waits for ${line} ≥ ${e.value}: ${CLASSES[e.class] ?? "?"}`;
      case KIND.GAP: return `${name} waits for the last users of the memory of ${buffer}`;
      case KIND.KEPT: {
        const condition = e.reason ? `the memory of ${buffer}` : `${line} ≥ ${e.value}`;
        return `${name}: ${KEEPERS[e.class] ?? "?"} for ${condition}`;
      }
      case KIND.OUT: return `${name} goes out: submission ${e.value} of hardware queue ${e.class}`;
      case KIND.ENTER: return `${name} enters and knows ${this.frontierText(this.frontier(e.frontier))}`;
      case KIND.START: return `${name} starts`;
      case KIND.FINISH: return op.status ? `${name} fails` : `${name} ends`;
      case KIND.PUBLISH: return `${name} has finished, for everybody`;
      case KIND.SIGNAL: return `${line} reaches ${e.value}${e.frontier ? "" : ", from outside"}`;
      case KIND.FAIL: return `${line} fails from ${e.value} on`;
      case KIND.HOST_WAIT: return `the host sees ${line} at ${e.value}`;
      case KIND.ALLOC: return `${this.axisName(e.value)} gets ${buffer}: ${this.result.reuse[e.class] ?? ""}`;
      case KIND.PRIORITY: return `${this.tables.queues[e.object].label} has priority ${e.value} now`;
      case KIND.FREE: return `${this.axisName(e.value)} frees ${buffer}`;
      default: return "";
    }
  }
}
