// The tables beside the pictures. Plain elements; everything that names an operation is a button.
import { CLASSES, KIND, NONE, STATE } from "tidemark/model.js";
import { timeText } from "tidemark/lanes.js";

const ROWS = 120; // of a table at once: beyond that it says how many more there are

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== ""));
  return element;
}

const STATES = ["not submitted yet", "held", "submitted", "running", "finished", "failed"];

export class Panels {
  constructor(root, { pick, hover, queueColor }) {
    this.root = root;
    this.pick = pick;
    this.hover = hover;
    this.queueColor = queueColor;
  }

  show(model) {
    this.model = model;
  }

  operation(number, text) {
    const op = this.model.operations[number];
    if (!op) return el("span", { class: "host" }, text ?? "the host");
    return el(
      "button",
      {
        class: "op", type: "button", style: `--c: ${this.queueColor(op.queue)}`,
        onclick: () => this.pick(number),
        onmouseenter: () => this.hover(number), onmouseleave: () => this.hover(-1),
      },
      text ?? this.model.operationName(number),
    );
  }

  // "steps@2" for an axis and an epoch: a button where that is one operation.
  entry(axis, epoch) {
    const { queues } = this.model.tables;
    const name = this.model.axisName(axis) + "@" + epoch;
    const op = axis < queues.length ? this.model.byEpoch[axis][epoch] : null;
    return op ? this.operation(op.number, name) : el("span", { class: "op plain" }, name);
  }

  frontier(frontier) {
    const parts = (frontier?.entries ?? []).map((e) => this.entry(e.axis, e.epoch));
    if (!parts.length) return el("span", { class: "none" }, "nothing yet");
    if (frontier?.tainted) parts.push(el("span", { class: "taint", title: "tainted: entries may be missing, here or where it is handed on; those that are there are true" }, "tainted"));
    return el("span", { class: "frontier" }, parts);
  }

  // ---- an operation ----------------------------------------------------------------------

  drawOperation(target, number, at) {
    const op = this.model.operations[number];
    if (!op) {
      target.replaceChildren(
        el("p", { class: "hint" }, "Choose an operation in the graph, the lanes or a table to see what it knows when it starts, and what became of each of its waits."),
      );
      return;
    }
    const told = this.model.tell(number);
    const state = this.model.state(op, at);
    target.replaceChildren(
      el("h3", {}, this.operation(number), el("span", { class: "state s" + state }, STATES[state])),
      el("p", { class: "source" }, told?.operation ?? op.name),
      el("h4", {}, "Knows, when it starts"),
      el("p", { class: "knows" }, this.frontier(this.model.frontier(op.known))),
      this.knowsText(op),
      el("h4", {}, told?.waits.length ? "Its waits" : "It waits for nothing"),
      ...(told?.waits ?? []).map((wait, i) => this.wait(op, wait, i)),
      this.facts(op),
    );
  }

  knowsText(op) {
    if (!op.known) return el("p", { class: "small" }, "It has not entered its queue.");
    const frontier = this.model.frontier(op.known);
    if (frontier.tainted)
      return el("p", { class: "small" }, "Tainted: a frontier was too small for all that went into it. What is listed is true; what is not may be true as well, and can no longer be proved.");
    return el("p", { class: "small" }, frontier.entries.length ? "Each of these, and all before it in its queue, has finished by then." : "Nothing had to happen before it.");
  }

  wait(op, wait, i) {
    const recorded = this.model.waits[op.firstWait + i];
    return el(
      "div", { class: "wait " + wait.class },
      el("div", { class: "head" }, el("code", {}, wait.memory_of ? `memory of ${wait.memory_of}` : `${wait.timeline} ≥ ${wait.value}`), el("span", { class: "class " + wait.class }, wait.class)),
      el("p", {}, this.linked(wait.why, recorded)),
    );
  }

  // The core's sentence, with the name of the signaller as a button.
  linked(why, recorded) {
    if (!recorded || recorded.cause === NONE) return why;
    const name = this.model.operationName(recorded.cause);
    const at = why.indexOf(name);
    if (at < 0) return why;
    return [why.slice(0, at), this.operation(recorded.cause), why.slice(at + name.length)];
  }

  // When it ran in the trace that is shown, if it is there.
  really(number, before = "") {
    const bar = this.real?.get(number);
    return bar ? `${before}${before ? "really " : ""}${timeText(bar.start)} to ${timeText(bar.end)}` : "";
  }

  facts(op) {
    const rows = [];
    const { timelines, buffers, queues, devices } = this.model.tables;
    const signals = this.model.values.slice(op.firstSignal, op.firstSignal + op.signalCount);
    if (signals.length) rows.push(["signals", signals.map((s) => `${timelines[s.timeline].label} = ${s.value}`).join(", ")]);
    const uses = this.model.usesOf(op);
    const named = (access) => uses.filter((u) => u.access & access).map((u) => buffers[u.buffer].label).slice(0, 8).join(", ");
    if (named(1)) rows.push(["reads", named(1)]);
    if (named(2)) rows.push(["writes", named(2)]);
    rows.push(["runs on", `${queues[op.queue].label}, of ${devices[queues[op.queue].device].label}`]);
    if (op.start >= 0 && op.end >= op.start) rows.push(["when", `${timeText(op.start)} to ${timeText(op.end)}`]);
    if (this.really(op.number)) rows.push(["in the trace", this.really(op.number)]);
    if (op.held) rows.push(["held", "at submit: nobody had promised all that it waits for, or it stood behind such a one"]);
    rows.push(["written at", `line ${op.line}`]);
    return el("dl", {}, rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }

  // ---- tables ------------------------------------------------------------------------------

  table(head, rows, more) {
    const table = el(
      "table", {},
      el("thead", {}, el("tr", {}, head.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, rows),
    );
    return more > 0 ? [table, el("p", { class: "small" }, `and ${more} more`)] : [table];
  }

  drawTimelines(target, at) {
    const { timelines } = this.model.tables;
    const used = timelines.map((t, i) => ({ t, i })).filter(({ t }) => t.used);
    const rows = used.slice(0, ROWS).map(({ t, i }) => this.timeline(t, i, at));
    target.replaceChildren(...this.table(["timeline", "value", "records", "scope"], rows, used.length - ROWS));
  }

  timeline(table, index, at) {
    const now = this.model.timelineAt(index, at);
    const reached = now.reached.slice(-3);
    const pending = now.pending.slice(0, 4);
    const left = now.reached.length - reached.length;
    const records = [
      left > 0 ? el("span", { class: "small" }, `${left} older`) : null,
      ...reached.map((r) => this.record(r, "reached")),
      ...pending.map((r) => this.record(r, "pending")),
      now.pending.length > pending.length ? el("span", { class: "small" }, `+${now.pending.length - pending.length}`) : null,
      now.failed ? el("span", { class: "rec failed" }, `fails from ${now.failed.value} on`) : null,
    ];
    const taint = !now.outside ? null : el("p", { class: "small" }, now.healed
      ? `${now.outside.value} came from outside; the record of ${now.healed.value} heals it`
      : `${now.outside.value} came from outside: it opens waits and teaches nothing`);
    return el("tr", {}, el("th", { scope: "row" }, table.label), el("td", { class: "number" }, String(now.value)),
      el("td", {}, el("div", { class: "records" }, records), taint), el("td", {}, table.scope));
  }

  record(record, state) {
    const op = this.model.operations[record.operation];
    const known = record.frontier
      ? this.model.frontierText(this.model.frontier(record.frontier))
      : op && op.known ? this.model.frontierText(this.model.recordOf(op)) : "";
    const who = op ? this.model.operationName(op.number) : record.external ? "outside" : "the host";
    const body = [el("b", {}, String(record.value)), " ", op ? this.operation(op.number) : who];
    const end = this.real?.get(op?.number)?.end;
    const really = end === undefined ? "" : `; in the trace at ${timeText(end)}`;
    return el("span", { class: "rec " + (record.external ? "external" : state), title: `${record.value}: ${state}, signalled by ${who}${known ? "; its record says " + known : ""}${really}` }, body);
  }

  drawQueues(target, at) {
    const { queues, devices } = this.model.tables;
    const rows = queues.slice(0, ROWS).map((queue, q) => {
      const now = this.model.queueAt(q, at);
      return el("tr", {}, el("th", { scope: "row" }, el("span", { class: "dot", style: `--c: ${this.queueColor(q)}` }), queue.label),
        el("td", {}, devices[queue.device].label),
        el("td", { class: "number", title: "base; now, with what others lend it" }, now.priority === queue.priority ? String(queue.priority) : `${queue.priority} → ${now.priority}`),
        el("td", {}, now.last ? this.frontier(this.model.after(now.last)) : el("span", { class: "none" }, "nothing yet")));
    });
    target.replaceChildren(
      el("p", { class: "small" }, "What the next operation of a queue may take for granted. A device's arbiter takes the ready queue with the highest priority first."),
      ...this.table(["queue", "device", "priority", "frontier"], rows, queues.length - ROWS),
    );
  }

  drawBuffers(target, at) {
    const { buffers } = this.model.tables;
    const order = buffers.map((b, i) => ({ b, i })).sort((x, y) => Number(y.b.scratch) - Number(x.b.scratch));
    const rows = order.slice(0, ROWS).map(({ b, i }) => {
      const now = this.model.bufferAt(i, at);
      const uses = now.uses.map((number) => this.operation(number));
      const taker = this.reuse(b, now);
      return el("tr", {}, el("th", { scope: "row" }, b.label),
        el("td", {}, el("p", {}, this.bufferState(b, now)),
          uses.length ? el("p", { class: "fact" }, el("span", { class: "small" }, "last uses "), el("span", { class: "frontier" }, uses)) : null,
          taker ? el("p", { class: "fact" }, el("span", { class: "small" }, "who may take its memory: "), taker) : null));
    });
    target.replaceChildren(...this.table(["buffer", "now"], rows, buffers.length - ROWS));
  }

  bufferState(buffer, now) {
    if (!buffer.scratch) return "always there";
    if (!now.now) return "not asked for yet";
    const queue = this.model.axisName(now.now.queue);
    if (!now.now.alloc) return `freed by ${queue}`;
    return el("span", {}, `${queue} got it: `, el("i", {}, this.model.result.reuse[now.now.reuse] ?? ""));
  }

  reuse(buffer, now) {
    if (!buffer.scratch) return "";
    if (!now.now) return "";
    if (now.now.alloc) return "nobody: it is in use";
    if (!now.takers) return "";
    if (!now.takers.known) return "nobody yet: an operation that is held names it";
    if (!now.takers.open.length) return "everybody, at once: all its uses have finished";
    const names = now.takers.queues.map((q) => this.model.tables.queues[q].label);
    const wait = now.takers.open.map((number) => number < 0 ? "all that was under way" : this.model.operationName(number)).join(", ");
    return names.length ? `${names.join(", ")} at once; others after ${wait}` : `whoever waits for ${wait}`;
  }

  // ---- the log: only what is in sight is there ------------------------------------------------

  drawLog(target, at, step) {
    const HEIGHT = 24;
    const model = this.model;
    const first = Math.max(0, Math.floor(target.scrollTop / HEIGHT) - 5);
    const count = Math.ceil((target.clientHeight || 300) / HEIGHT) + 10;
    const begin = model.steps[Math.max(0, step - 1)];
    const rows = [];
    for (let i = first; i < Math.min(first + count, model.logCount); i++) {
      const kind = model.entry(i);
      rows.push(el("button", {
        type: "button", tabindex: "-1", style: `top: ${i * HEIGHT}px`,
        class: "entry k" + kind.kind + (i < at ? (i >= begin && step > 0 ? " now" : " past") : ""),
        "data-entry": i,
      }, el("span", { class: "time" }, timeText(kind.time)), model.sentence(i)));
    }
    target.firstElementChild.style.height = model.logCount * HEIGHT + "px";
    target.firstElementChild.replaceChildren(...rows);
  }
}

export { CLASSES, KIND, STATE };
