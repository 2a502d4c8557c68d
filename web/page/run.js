// Runs the program of the editor, and shows the outcome.
import { resolveCaptions, resolved, titleOf, toCaption } from "tidemark/captions.js";
import { timeText } from "tidemark/lanes.js";
import { CLASSES, Model } from "tidemark/model.js";
import { keepTrace, setTrace } from "tidemark/real_trace.js";
import { makeOptions, makeParams } from "tidemark/settings.js";
import { $, findOperation, nameOperation, page, state } from "tidemark/state.js";
import { choose, go } from "tidemark/step.js";

export function run({ keep = null } = {}) {
  const began = performance.now();
  const outcome = page.core.run(state.text, state.set, state.options);
  if (outcome.errors && forgetSettings(outcome.errors)) return run({ keep });
  if (outcome.errors) {
    page.editor.show(outcome.errors);
    const errors = outcome.errors.length === 1 ? "1 error" : `${outcome.errors.length} errors`;
    $("counts").textContent = state.model ? errors + ": the pictures show what ran before" : errors;
    $("counts").title = $("counts").textContent;
    document.body.classList.toggle("stale", Boolean(state.model));
    if (!state.model) tellNothing();
    window.tidemark = { ...window.tidemark, errors: outcome.errors, ready: true };
    return false;
  }
  document.body.classList.remove("stale");
  page.editor.show(outcome.result.error ? [outcome.result.error] : []);
  state.model = new Model(page.core, outcome);
  const { json } = state.trace ?? {};
  setTrace(null);
  state.hovered = -1; // it was one of the program before
  const model = state.model;
  page.panels.show(model);
  page.graph.show(model);
  showLanes();
  if (json) keepTrace(json);
  makeParams();
  makeOptions();
  resolveCaptions();
  state.selected = keep?.operation ? findOperation(keep.operation) : state.selected < model.operations.length ? state.selected : -1;
  page.graph.follow(state.selected);
  $("scrub").max = model.stepCount;
  go(Math.min(keep?.step ?? state.step, model.stepCount));
  tellCounts();
  window.tidemark = { ...window.tidemark, core: page.core, model, state, go, graph: page.graph, lanes: page.lanes, choose, toCaption, captions: resolved, errors: [], ready: true, took: performance.now() - began, simulated: model.took };
  return true;
}

// A setting of a parameter that the text has no longer.
function forgetSettings(errors) {
  const gone = errors.map((e) => /^unknown parameter '(.*)'$/.exec(e.text)?.[1]).filter((name) => Object.hasOwn(state.set, name));
  for (const name of gone) delete state.set[name];
  return state.edited && gone.length > 0;
}

// The first program that was given has errors: there is nothing to be shown.
function tellNothing() {
  $("h-story").textContent = titleOf(state.edited ? null : page.captions[state.program]);
  $("caption-note").hidden = true;
  $("caption").textContent = "It could not be read. What is wrong is listed below its text.";
  makeOptions();
}

function tellCounts() {
  const r = state.model.result;
  const parts = [`${r.operations.toLocaleString("en")} ${r.operations === 1 ? "operation" : "operations"}`, timeText(r.makespan)];
  if (state.options.mode) parts.push(`${r.event_waits.toLocaleString("en")} event waits`);
  else parts.push(`${r.submitted} ${r.submitted === 1 ? "wait" : "waits"}: ${r.issued} issued, ${r.elided} elided, ${r.resolved} resolved`);
  if (r.gap_waits) parts.push(`${r.gap_waits} for memory`);
  if (r.status !== "TIDE_OK") parts.push("stopped: " + r.error.text);
  $("counts").textContent = parts.join(" · ");
  $("counts").title = $("counts").textContent;
}

function showLanes() {
  const model = state.model;
  const bars = model.operations.filter((op) => op.start >= 0).map((op) => ({
    queue: op.queue, start: op.start, end: op.end, name: op.name, short: String(op.epoch), number: op.number, op,
  }));
  page.lanes.show(model, bars, model.tables.queues.map((q) => q.label), Math.max(model.result.makespan, model.end));
  page.lanes.index(bars);
  $("lane-note").textContent = laneNote();
  sizeLanes();
  const there = new Set(model.waits.map((w) => CLASSES[w.class]));
  for (const name of CLASSES) document.querySelector(`.legend .${name}`).hidden = !there.has(name);
}

// What else there is to know: another mode, or waits for memory that cost time.
function laneNote() {
  if (state.options.mode) return state.options.mode === 1 ? "as a program of binary events" : "with all queues joined at barriers";
  const waits = state.model.result.path_gap_waits;
  if (!waits) return "";
  return `${waits} ${waits === 1 ? "wait" : "waits"} for memory on the longest path: more memory would let work overlap`;
}

// Lanes get the height that they want, up to half of the room.
export function sizeLanes() {
  const section = document.querySelector(".lanes");
  const wanted = page.lanes.wanted + 44 + (state.trace ? page.real.wanted : 0);
  section.style.flex = `0 1 ${Math.max(120, Math.min(wanted, (document.querySelector(".middle").clientHeight - $("story").offsetHeight) * 0.55))}px`;
}

let timer = 0;
export function runLater(delay) {
  clearTimeout(timer);
  timer = setTimeout(() => run({ keep: { step: state.step, operation: state.model ? nameOperation(state.selected) : "" } }), delay);
}
