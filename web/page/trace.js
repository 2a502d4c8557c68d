// A trace that `tidemark run --trace`, or another program, wrote: what really happened, in the shape of lanes.

// {bars, end, names, operations, matched, of: by operation} with the queues of `model` first, and the other members of a
// session among the rest; throws what is wrong, in words.
export function readTrace(text, model) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error("this is not JSON; a file of `tidemark run --trace` is expected");
  }
  return placeTrace(json, model);
}

// The same of what was read before, when the program has run with other settings.
export function placeTrace(json, model) {
  const events = Array.isArray(json) ? json : json?.traceEvents;
  if (!Array.isArray(events)) throw new Error("this JSON is not a trace: it has no list of events");
  const labels = model.tables.queues.map((q) => q.label);
  const rowOf = new Map(labels.map((label, i) => [label, i]));
  const names = [...labels];
  const queueOf = new Map();
  for (const e of events) {
    if (e?.ph !== "M" || e.name !== "thread_name") continue;
    // Operations of a queue that overlap have tracks of their own: "ring (2)".
    const label = String(e.args?.name ?? "").replace(/ \(\d+\)$/, "");
    if (!rowOf.has(label)) {
      rowOf.set(label, names.length);
      names.push(label);
    }
    queueOf.set(e.tid, rowOf.get(label));
  }
  return { json, ...readBars(events, queueOf, labels.length, model), names };
}

// A mark on the lane of a session's member: a state was sent, a record has come, the member was lost.
function markOf(e, queueOf) {
  if (e?.ph !== "i" || e.cat !== "session" || !Number.isFinite(e.ts) || !queueOf.has(e.tid)) return null;
  const more = e.args?.signaller ? `\nby ${e.args.signaller} @ ${e.args.epoch}` : e.args?.failure ? `\n${e.args.failure}` : "";
  return { queue: queueOf.get(e.tid), start: e.ts * 1e3, end: e.ts * 1e3, name: String(e.name) + more, short: "", number: -1, op: null };
}

function readBars(events, queueOf, known, model) {
  const bars = [];
  let operations = 0;
  let first = Infinity;
  let end = 0;
  for (const e of events) {
    const mark = markOf(e, queueOf);
    if (mark) {
      first = Math.min(first, e.ts);
      end = Math.max(end, e.ts);
      bars.push(mark);
    }
    if (e?.ph !== "X" || !Number.isFinite(e.ts) || !Number.isFinite(e.dur) || !queueOf.has(e.tid)) continue;
    const queue = queueOf.get(e.tid);
    const epoch = e.args?.epoch;
    const op = queue < known && Number.isInteger(epoch) ? model.byEpoch[queue][epoch] : null;
    first = Math.min(first, e.ts);
    end = Math.max(end, e.ts + e.dur);
    operations++;
    bars.push({
      queue, start: e.ts * 1e3, end: (e.ts + e.dur) * 1e3, name: op ? op.name : String(e.name),
      short: op ? String(op.epoch) : "", number: op ? op.number : -1, op,
    });
  }
  if (!operations) throw new Error("this trace has no operations");
  for (const bar of bars) {
    bar.start -= first * 1e3;
    bar.end -= first * 1e3;
  }
  const of = new Map(bars.filter((b) => b.op).map((b) => [b.number, b]));
  return { bars, end: (end - first) * 1e3, operations, matched: of.size, of };
}
