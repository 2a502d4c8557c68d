// The page: what is shown, and what happens when somebody does something.
import { Core } from "tidemark/core.js";
import { SvgPen, theme } from "tidemark/draw.js";
import { Editor } from "tidemark/editor.js";
import { Graph } from "tidemark/graph.js";
import { Lanes, timeText } from "tidemark/lanes.js";
import { readLink, writeLink } from "tidemark/link.js";
import { CLASSES, Model, NONE, STATE } from "tidemark/model.js";
import { Panels, el } from "tidemark/panels.js";
import { placeTrace, readTrace } from "tidemark/trace.js";

const $ = (id) => document.getElementById(id);
const data = (id) => JSON.parse($(id).textContent);

// Sliders of the simulation: [option, label, most, what 0 means].
const OPTIONS = [
  ["devices", "devices of a kind, at most", 8, "as written"],
  ["workers", "workers of a device", 8, "as written"],
  ["frontier", "entries of a frontier", 24, "enough"],
];
// Powers of ten and halves between, in ns.
const COSTS = [0, 100e3, 200e3, 500e3, 1e6, 1.2e6, 2e6, 5e6, 10e6, 20e6];
// Bytes.
const MEMORY = [0, 16, 32, 64, 128, 257, 512, 1024, 4096, 16384, 65536].map((kib) => kib * 1024);
const sizeText = (bytes) => (bytes % 1048576 ? `${bytes / 1024} KiB` : `${bytes / 1048576} MiB`);

const state = {
  program: null, text: "", given: null, edited: false, set: {}, options: {},
  step: 0, selected: -1, hovered: -1, tab: "timelines", playing: false, model: null, trace: null,
};
let core, graph, lanes, real, panels, editor, examples, captions, resolved = [];

// ---- running a program ------------------------------------------------------------------------

function run({ keep = null } = {}) {
  const began = performance.now();
  const outcome = core.run(state.text, state.set, state.options);
  if (outcome.errors && forgetSettings(outcome.errors)) return run({ keep });
  if (outcome.errors) {
    editor.show(outcome.errors);
    const errors = outcome.errors.length === 1 ? "1 error" : `${outcome.errors.length} errors`;
    $("counts").textContent = state.model ? errors + ": the pictures show what ran before" : errors;
    $("counts").title = $("counts").textContent;
    document.body.classList.toggle("stale", Boolean(state.model));
    if (!state.model) tellNothing();
    window.tidemark = { ...window.tidemark, errors: outcome.errors, ready: true };
    return false;
  }
  document.body.classList.remove("stale");
  editor.show(outcome.result.error ? [outcome.result.error] : []);
  state.model = new Model(core, outcome);
  const { json } = state.trace ?? {};
  setTrace(null);
  state.hovered = -1; // it was one of the program before
  const model = state.model;
  panels.show(model);
  graph.show(model);
  showLanes();
  if (json) keepTrace(json);
  makeParams();
  makeOptions();
  resolveCaptions();
  state.selected = keep?.operation ? findOperation(keep.operation) : state.selected < model.operations.length ? state.selected : -1;
  graph.follow(state.selected);
  $("scrub").max = model.stepCount;
  go(Math.min(keep?.step ?? state.step, model.stepCount));
  tellCounts();
  window.tidemark = { ...window.tidemark, core, model, state, go, graph, lanes, choose, toCaption, captions: resolved, errors: [], ready: true, took: performance.now() - began, simulated: model.took };
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
  $("h-story").textContent = titleOf(state.edited ? null : captions[state.program]);
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
  lanes.show(model, bars, model.tables.queues.map((q) => q.label), Math.max(model.result.makespan, model.end));
  lanes.index(bars);
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
function sizeLanes() {
  const section = document.querySelector(".lanes");
  const wanted = lanes.wanted + 44 + (state.trace ? real.wanted : 0);
  section.style.flex = `0 1 ${Math.max(120, Math.min(wanted, (document.querySelector(".middle").clientHeight - $("story").offsetHeight) * 0.55))}px`;
}

// "steps 2": the second operation of a queue.
function findOperation(text) {
  const match = /^(.*)[ @](\d+)$/.exec(text);
  const queue = match ? state.model.tables.queues.findIndex((q) => q.label === match[1]) : -1;
  const op = queue < 0 ? null : state.model.byQueue[queue][Number(match[2]) - 1];
  return op ? op.number : -1;
}

function nameOperation(number) {
  const op = state.model.operations[number];
  return op ? `${state.model.tables.queues[op.queue].label}@${op.sequence}` : "";
}

// ---- captions ------------------------------------------------------------------------------------

function resolveCaptions() {
  const story = state.edited ? null : captions[state.program];
  resolved = (story?.captions ?? []).map((c) => ({ ...c, step: captionStep(c.at) })).filter((c) => c.step !== null);
  resolved.sort((a, b) => a.step - b.step);
  $("h-story").textContent = titleOf(story);
  $("caption-note").hidden = !story || asTold(story);
  $("caption-steps").replaceChildren(...resolved.map((c, i) =>
    el("button", { type: "button", "aria-label": `Caption ${i + 1} of ${resolved.length}`, onclick: () => toCaption(i) }, String(i + 1))));
}

// Are the settings those that the captions speak of?
function asTold(story) {
  const same = (a = {}, b = {}) => [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => String(a[key] || 0) === String(b[key] || 0));
  return same(story.options, state.options) && same(story.set, state.set);
}

function titleOf(story) {
  if (story) return story.title;
  if (state.edited || !state.program) return "Your program";
  return (state.program === "given" ? state.given.name : state.program).replace(/\.tide$/, "").replaceAll("_", " ");
}

// "steps 2 end": the step in which that happens; null if it never does.
function captionStep(at) {
  if (at === "begin") return 0;
  if (at === "end") return state.model.stepCount;
  const match = /^(.* \d+) (submit|enter|start|end)$/.exec(at);
  const op = state.model.operations[match ? findOperation(match[1]) : -1];
  if (!op) return null;
  const entry = { submit: op.submitAt, enter: op.enterAt, start: op.startAt, end: op.finishAt }[match[2]];
  return entry < state.model.logCount ? state.model.stepOf(entry) : null;
}

function captionNow() {
  let now = -1;
  resolved.forEach((c, i) => {
    if (c.step <= state.step) now = i;
  });
  return now;
}

// What a caption speaks of: an operation, perhaps a table.
function attend(caption) {
  state.selected = caption.look ? findOperation(caption.look) : -1;
  if (state.selected >= 0) graph.follow(state.selected);
  if (caption.tab && caption.tab !== state.tab) setTab(caption.tab);
}

function toCaption(i) {
  if (!resolved.length) return;
  const c = resolved[Math.max(0, Math.min(i, resolved.length - 1))];
  attend(c);
  go(c.step);
}

function tellCaption() {
  const now = captionNow();
  const caption = resolved[now];
  const text = caption ? caption.text : describe();
  if ($("caption").textContent !== text) $("caption").textContent = text;
  [...$("caption-steps").children].forEach((b, i) => {
    if (i === now) b.setAttribute("aria-current", "step");
    else b.removeAttribute("aria-current");
  });
}

// A program without captions speaks by its first comment.
function describe() {
  const lines = state.text.split("\n");
  const comment = lines.slice(0, 40).find((l) => l.startsWith("#"));
  return comment ? comment.replace(/^#\s*/, "").replace(/^\S+\.tide:\s*/, "") : "Step through it, or choose an operation.";
}

// ---- where we are ----------------------------------------------------------------------------------

function go(step) {
  const model = state.model;
  if (!model) return;
  const before = state.step;
  state.step = Math.max(0, Math.min(Math.round(step), model.stepCount));
  $("scrub").value = state.step;
  if (state.playing && state.step !== before) for (const c of resolved) if (c.step > before && c.step <= state.step) attend(c);
  draw();
}

let frame = 0;
function draw() {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    paint();
  });
}

function paint() {
  const model = state.model;
  if (!model) return;
  const at = model.at(state.step);
  const time = model.time(state.step);
  const how = look(at, time);
  if (state.playing) lanes.follow(time);
  graph.draw(how);
  lanes.draw(how);
  if (state.trace) real.draw({ ...how, time: -1 });
  $("where").textContent = `step ${state.step} of ${model.stepCount} · ${timeText(time)}`;
  tellCaption();
  // Whoever scrubs looks at the pictures: the tables follow when there is time, and at the end.
  clearTimeout(tableTimer);
  if (performance.now() - tabled < 60) tableTimer = setTimeout(paintTables, 60);
  else paintTables();
  writeHash();
}

let tabled = 0;
let tableTimer = 0;
function paintTables() {
  const at = state.model.at(state.step);
  keepFocus($("operation"), () => panels.drawOperation($("operation"), state.selected, at));
  keepFocus($("panel"), () => drawTab(at));
  editor.point(state.model.operations[state.selected]?.line ?? 0);
  tabled = performance.now();
}

// What is drawn anew takes the focus with it: whoever works by the keyboard goes on at the same place.
function keepFocus(place, drawIt) {
  const place_of = () => [...place.querySelectorAll("button:not(.entry)")];
  const at = place_of().indexOf(document.activeElement);
  const chosen = place.dataset.chosen;
  drawIt();
  place.dataset.chosen = state.selected;
  if (at < 0) return;
  const now = place_of();
  const same = place.id === "panel" || chosen === place.dataset.chosen;
  (now[same ? Math.min(at, now.length - 1) : 0] ?? place).focus({ preventScroll: same });
}

// How each operation looks now, given what is chosen.
function look(at, time) {
  const model = state.model;
  const chosen = model.operations[state.hovered >= 0 ? state.hovered : state.selected];
  const t = theme();
  const mark = (item) => {
    const op = item.op;
    if (!op) return { state: STATE.OVER, dim: Boolean(chosen) };
    const how = { state: model.state(op, at), dim: false };
    if (!chosen) return how;
    if (op === chosen) how.ring = t.ink;
    else if (model.inPast(chosen, op)) how.ring = t.accent;
    else how.dim = true;
    return how;
  };
  return { at, time, mark, selected: chosen ? chosen.number : -1, arrows: () => (chosen ? [{ op: chosen, strong: true }] : []) };
}

function drawTab(at) {
  const panel = $("panel");
  const draw = { timelines: "drawTimelines", queues: "drawQueues", buffers: "drawBuffers" }[state.tab];
  if (draw) {
    panels[draw](panel, at);
    return;
  }
  if (!panel.querySelector(".log")) panel.replaceChildren(el("div", { class: "log", style: `height: ${state.model.logCount * 24}px` }));
  if (panel.dataset.step !== String(state.step)) {
    panel.dataset.step = state.step;
    const row = Math.max(0, at - 1) * 24;
    if (row < panel.scrollTop || row > panel.scrollTop + panel.clientHeight - 30) panel.scrollTop = Math.max(0, row - panel.clientHeight / 2);
  }
  panels.drawLog(panel, at, state.step);
}

function choose(number) {
  state.selected = number ?? -1;
  if (state.selected >= 0) graph.follow(state.selected);
  draw();
}

function hover(number) {
  if (state.hovered === number) return;
  state.hovered = number;
  draw();
}

function tip(item, event) {
  const box = $("tip");
  box.hidden = !item;
  if (!item) {
    hover(-1);
    return;
  }
  const op = item.op;
  const model = state.model;
  box.textContent = op
    ? `${model.operationName(op.number)}  ${op.name}\nknows ${model.frontierText(model.frontier(op.known))}` +
      (op.start >= 0 ? `\n${timeText(op.start)} to ${timeText(op.end)}` : "") + panels.really(op.number, "\n")
    : item.name;
  box.style.left = Math.min(event.clientX + 14, window.innerWidth - 330) + "px";
  box.style.top = Math.min(event.clientY + 16, window.innerHeight - 90) + "px";
  hover(op ? op.number : -1);
}

// ---- settings --------------------------------------------------------------------------------------

function slider(id, label, input, value) {
  input.id = id;
  return el("div", { class: "slider" }, el("label", { for: id }, label), el("output", { for: id }, value), input);
}

let made = "";
function makeParams() {
  const params = state.model.tables.params;
  const key = state.program + params.map((p) => p.name + ":" + typeof p.value).join();
  if (made === key) {
    params.forEach((param, i) => $("params").querySelectorAll(".slider")[i].refresh(param.value));
    return;
  }
  made = key;
  $("params").replaceChildren(
    params.length ? el("div", { class: "group" }, "Parameters of the program") : "",
    ...params.map(makeParam),
  );
}

// From a little to four times what the program says; what does not fit can be typed in the text.
function makeParam(param) {
  const id = "set-" + param.name;
  if (typeof param.value !== "number") {
    const input = el("input", { type: "text", value: param.value });
    input.addEventListener("change", () => change(param.name, input.value));
    const row = slider(id, param.name, input, "");
    row.refresh = (value) => input !== document.activeElement && (input.value = value);
    return row;
  }
  const input = el("input", { type: "range" });
  const row = slider(id, param.name, input, "");
  // Whoever moves it has set the value; another one comes from the text.
  row.refresh = (value) => {
    if (input.max && Number(input.value) === value) return;
    const most = Math.max(8, Math.abs(value) * 4);
    input.max = most;
    input.min = value < 0 ? -most : 0;
    input.step = most > 200 ? 2 ** Math.floor(Math.log2(most / 100)) : 1;
    input.value = value;
    row.querySelector("output").textContent = value;
  };
  row.refresh(param.value);
  input.addEventListener("input", () => {
    row.querySelector("output").textContent = input.value;
    change(param.name, input.value);
  });
  return row;
}

function change(name, value) {
  state.set[name] = value;
  later();
}

function makeOptions() {
  if ($("options").childElementCount) {
    for (const row of $("options").querySelectorAll("[data-option]")) row.refresh();
    return;
  }
  $("options").replaceChildren(
    el("div", { class: "group" }, "Simulation"),
    ...OPTIONS.map(([name, label, most, zero]) => makeOption(name, label, Array.from({ length: most + 1 }, (_, i) => i), (v) => (v ? String(v) : zero))),
    makeOption("step", "time between submits", COSTS, (v) => (v ? timeText(v) : "none")),
    makeOption("latency", "time of a signal between devices", COSTS, (v) => (v ? timeText(v) : "none")),
    makeOption("memory", "memory for buffers, at most", MEMORY, (v) => (v ? sizeText(v) : "enough")),
    makeMode(),
    makePaused(),
  );
}

function makeOption(name, label, values, show) {
  const input = el("input", { type: "range", min: 0, max: values.length - 1, step: 1 });
  const row = slider("option-" + name, label, input, "");
  const output = row.querySelector("output");
  row.dataset.option = name;
  row.refresh = () => {
    const now = state.options[name] ?? 0;
    const near = values.findIndex((v) => v >= now);
    input.value = near < 0 ? values.length - 1 : near;
    output.textContent = show(now);
    input.setAttribute("aria-valuetext", show(now));
  };
  input.addEventListener("input", () => {
    state.options[name] = values[input.value];
    row.refresh();
    later();
  });
  row.refresh();
  return row;
}

function makeMode() {
  const select = el("select", {}, el("option", { value: 0 }, "frontiers"), el("option", { value: 1 }, "binary events"), el("option", { value: 2 }, "barriers"));
  const row = slider("option-mode", "ordered by", select, "");
  row.dataset.option = "mode";
  row.refresh = () => (select.value = state.options.mode ?? 0);
  select.addEventListener("change", () => {
    state.options.mode = Number(select.value);
    later();
  });
  row.refresh();
  return row;
}

function makePaused() {
  const box = el("input", { type: "checkbox", id: "option-paused" });
  const row = el("div", { class: "slider check" }, box, el("label", { for: "option-paused" }, "submit all before anything starts"));
  row.dataset.option = "paused";
  row.refresh = () => (box.checked = Boolean(state.options.paused));
  box.addEventListener("change", () => {
    state.options.paused = box.checked ? 1 : 0;
    later();
  });
  row.refresh();
  return row;
}

let timer = 0;
function later() {
  clearTimeout(timer);
  timer = setTimeout(() => run({ keep: { step: state.step, operation: nameOperation(state.selected) } }), 120);
}

// ---- programs --------------------------------------------------------------------------------------

function open(name, { link = null } = {}) {
  const story = captions[name] ?? {};
  state.program = name;
  state.edited = false;
  state.text = name === "given" ? state.given.text : examples[name];
  state.set = { ...(link ? link.set : story.set) };
  state.options = { ...(link ? link.options : story.options) };
  state.step = link?.step ?? 0;
  state.selected = -1;
  made = "";
  stop();
  editor.value = state.text;
  $("program").value = name;
  run({ keep: link && { step: link.step ?? 0, operation: link.operation } });
}

function edit(text) {
  state.text = text;
  state.edited = true;
  $("program").value = ""; // so that the one it was made of can be chosen again
  stop();
  clearTimeout(timer);
  timer = setTimeout(() => run({ keep: { step: state.step, operation: state.model ? nameOperation(state.selected) : "" } }), 250);
}

function fillPrograms() {
  const names = Object.keys(examples).sort((a, b) => order(a) - order(b) || a.localeCompare(b));
  $("program").replaceChildren(
    el("option", { value: "", hidden: true }, "Your program"),
    ...(state.given ? [el("option", { value: "given" }, state.given.name)] : []),
    ...names.map((name) => el("option", { value: name }, captions[name]?.title ?? name)),
  );
}
const order = (name) => (Object.keys(captions).indexOf(name) + 1 || 1000);

function openLink(address = location.hash) {
  const link = readLink(address);
  setTab(TABS.includes(link.view) ? link.view : "timelines");
  // Only a name, as one writes it by hand: as if it was chosen from the list.
  const bare = link.step === null && !Object.keys({ ...link.set, ...link.options }).length;
  if (link.text !== null) {
    stop();
    Object.assign(state, { program: null, edited: true, text: link.text, set: link.set, options: link.options, selected: -1 });
    made = "";
    editor.value = link.text;
    $("program").value = "";
    run({ keep: { step: link.step ?? 0, operation: link.operation } });
  } else if (link.program && (Object.hasOwn(examples, link.program) || (link.program === "given" && state.given))) {
    open(link.program, bare ? {} : { link });
    if (bare && link.operation) choose(findOperation(link.operation));
  } else open(state.given ? "given" : "late_waiter");
}

let hash = "";
let hashTimer = 0;
function writeHash() {
  if (state.playing && hashTimer) return; // or it would be put off until the end
  clearTimeout(hashTimer);
  hashTimer = setTimeout(writeNow, state.playing ? 500 : 60);
}

function writeNow() {
  clearTimeout(hashTimer);
  hashTimer = 0;
  hash = writeLink({
    program: state.program, text: state.edited ? state.text : null, set: state.set, options: state.options,
    step: state.step, operation: state.selected >= 0 && state.model ? nameOperation(state.selected) : "", view: state.tab === "timelines" ? "" : state.tab,
  });
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

// ---- transport -------------------------------------------------------------------------------------

let last = 0;
const lastStep = () => state.model?.stepCount ?? 0;
function play() {
  if (!state.model) return;
  if (state.step >= state.model.stepCount) go(0);
  state.playing = true;
  icon("M4 3h3v10H4zM9 3h3v10H9z");
  $("play").setAttribute("aria-label", "Pause");
  last = performance.now();
  requestAnimationFrame(tick);
}

const icon = (path) => $("play").querySelector("path").setAttribute("d", path);

function stop() {
  state.playing = false;
  icon("M4 3v10l9-5z");
  $("play").setAttribute("aria-label", "Play");
}

function tick(now) {
  if (!state.playing) return;
  const steps = Math.floor(((now - last) / 1000) * Number($("speed").value));
  if (steps > 0) {
    last = now;
    go(state.step + steps);
  }
  if (state.step >= state.model.stepCount) stop();
  else requestAnimationFrame(tick);
}

function keys(event) {
  const tag = event.target.tagName;
  // Where [ and ] are typed with Alt they come with it.
  const composed = event.metaKey || (event.ctrlKey || event.altKey ? !"[]".includes(event.key) : false);
  if (composed || tag === "TEXTAREA" || tag === "SELECT") return;
  if (tag === "INPUT" && event.target.id !== "scrub" && event.target.type !== "checkbox") return;
  if (event.target.id === "graph" && graphKeys(event)) return;
  if (event.target.getAttribute?.("role") === "tab" && event.key.startsWith("Arrow")) return;
  const does = {
    ArrowRight: () => go(state.step + 1), ArrowLeft: () => go(state.step - 1),
    Home: () => go(0), End: () => go(lastStep()),
    "]": () => toCaption(captionNow() + 1), "[": () => toCaption(captionNow() - 1),
    Escape: () => choose(-1),
  }[event.key];
  if (does) does();
  else if (event.key === " " && tag !== "BUTTON" && event.target.type !== "checkbox") state.playing ? stop() : play();
  else return;
  event.preventDefault();
}

// In the graph, arrows go along the queue, and to who is waited for.
function graphKeys(event) {
  if (!state.model) return false;
  const ops = state.model.operations;
  const op = ops[state.selected];
  const list = op && state.model.byQueue[op.queue];
  const to = {
    ArrowRight: () => (op ? list[list.indexOf(op) + 1] : ops[0]), ArrowLeft: () => (op ? list[list.indexOf(op) - 1] : ops[0]),
    ArrowUp: () => (op ? beside(op, -1) : ops[0]), ArrowDown: () => (op ? beside(op, 1) : ops[0]),
    "+": () => graph.zoom(1.2), "-": () => graph.zoom(0.83),
  }[event.key];
  if (!to) return false;
  const found = to();
  if (found) choose(found.number);
  draw();
  event.preventDefault();
  return true;
}

function beside(op, by) {
  const rows = state.model.byQueue;
  const row = rows[(op.queue + by + rows.length) % rows.length];
  return row?.[Math.min(op.sequence, row.length) - 1];
}

// ---- tabs ------------------------------------------------------------------------------------------

const TABS = ["timelines", "queues", "buffers", "events"];
function setTab(name) {
  if (!TABS.includes(name)) return;
  state.tab = name;
  for (const tab of TABS) {
    $("tab-" + tab).setAttribute("aria-selected", tab === name);
    $("tab-" + tab).tabIndex = tab === name ? 0 : -1;
  }
  $("panel").setAttribute("aria-labelledby", "tab-" + name);
  $("panel").replaceChildren();
  $("panel").dataset.step = "";
  draw();
}

// ---- pictures and traces ------------------------------------------------------------------------------

// The graph above the lanes, as they are seen.
export function picture() {
  const t = theme();
  const parts = [graph, lanes, ...(state.trace ? [real] : [])];
  const width = Math.max(...parts.map((p) => p.canvas.clientWidth));
  const height = parts.reduce((sum, p) => sum + p.canvas.clientHeight, 0);
  const pen = new SvgPen(width, height, t.paper);
  const at = state.model.at(state.step);
  const how = look(at, state.model.time(state.step));
  let y = 0;
  for (const part of parts) {
    pen.parts.push(`<g transform="translate(0 ${y})">`);
    pen.clip(0, 0, part.canvas.clientWidth, part.canvas.clientHeight, () =>
      part.paint(pen, part.canvas.clientWidth, part.canvas.clientHeight, part === real ? { ...how, time: -1 } : how));
    pen.parts.push("</g>");
    y += part.canvas.clientHeight;
  }
  return pen.toString();
}

function save(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function savePng() {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([picture()], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = el("canvas", { width: image.width * 2, height: image.height * 2 });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => save(fileName("png"), blob));
  };
  image.src = url;
}
const fileName = (ending) => `${titleOf(captions[state.program]).replace(/\W+/g, "_")}-${state.step}.${ending}`;

function setTrace(trace) {
  state.trace = trace;
  panels.real = trace?.of ?? null;
  $("real").hidden = !trace;
  if (!trace) return;
  real.show(state.model, trace.bars, trace.names, trace.end);
  real.index(trace.bars);
  sizeLanes();
}

// It stays beside what is simulated with other settings, not beside another program.
function keepTrace(json) {
  const trace = placeTrace(json, state.model);
  if (trace.matched) setTrace(trace);
  else toast("the trace is of another program: it is not shown any more");
}

function showTrace(text) {
  try {
    if (!state.model) throw new Error("a trace is shown below a program, and there is none yet");
    const trace = readTrace(text, state.model);
    setTrace(trace);
    toast(`${trace.bars.length} ${trace.bars.length === 1 ? "operation" : "operations"}, of which ${trace.matched} ${trace.matched === 1 ? "is" : "are"} in this program`);
  } catch (problem) {
    toast(problem.message);
  }
  draw();
}

let toastTimer = 0;
function toast(text) {
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => ($("toast").hidden = true), 4000);
}

// ---- the beginning ---------------------------------------------------------------------------------------

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  draw();
}

function listen() {
  $("program").addEventListener("change", () => open($("program").value));
  $("home").addEventListener("click", (e) => {
    e.preventDefault();
    open("late_waiter");
  });
  $("take-settings").addEventListener("click", () => open(state.program));
  $("scrub").addEventListener("input", () => {
    stop();
    go(Number($("scrub").value));
  });
  $("first").addEventListener("click", () => go(0));
  $("back").addEventListener("click", () => go(state.step - 1));
  $("next").addEventListener("click", () => go(state.step + 1));
  $("last").addEventListener("click", () => go(lastStep()));
  $("play").addEventListener("click", () => (state.playing ? stop() : play()));
  $("theme").addEventListener("click", () => setTheme(theme().name === "dark" ? "light" : "dark"));
  $("copy-link").addEventListener("click", async () => {
    writeNow();
    try {
      await navigator.clipboard.writeText(location.href);
      toast("The link is in the clipboard");
    } catch {
      toast("The address above is the link");
    }
  });
  const drawn = (then) => () => (state.model ? then() : toast("There is no picture yet"));
  $("save-svg").addEventListener("click", drawn(() => save(fileName("svg"), new Blob([picture()], { type: "image/svg+xml" }))));
  $("save-png").addEventListener("click", drawn(savePng));
  $("load-trace").addEventListener("click", () => $("trace-file").click());
  $("trace-file").addEventListener("change", async () => {
    const file = $("trace-file").files[0];
    if (file) showTrace(await file.text());
    $("trace-file").value = "";
  });
  for (const name of TABS) $("tab-" + name).addEventListener("click", () => setTab(name));
  $("tabs").addEventListener("keydown", (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const next = TABS[(TABS.indexOf(state.tab) + by + TABS.length) % TABS.length];
    setTab(next);
    $("tab-" + next).focus();
    e.preventDefault();
  });
  $("panel").addEventListener("scroll", () => state.tab === "events" && draw());
  $("panel").addEventListener("click", (e) => {
    const row = e.target.closest?.("[data-entry]");
    if (!row) return;
    const entry = state.model.entry(Number(row.dataset.entry));
    if (entry.operation !== NONE) {
      state.selected = entry.operation;
      graph.follow(state.selected);
    }
    go(state.model.stepOf(entry.index));
  });
  // A button that is drawn anew below the mouse never hears that it has left.
  document.addEventListener("mouseover", (e) => e.target.closest?.("button.op, canvas") || hover(-1));
  document.documentElement.addEventListener("mouseleave", () => hover(-1));
  document.addEventListener("keydown", keys);
  window.addEventListener("resize", () => {
    sizeLanes();
    graph.fitted = false;
    draw();
  });
  window.addEventListener("hashchange", () => location.hash !== hash && openLink());
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (e) => setTheme(e.matches ? "dark" : "light"));
}

async function begin() {
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  if (new URLSearchParams(location.search).has("inline")) document.body.classList.add("inline");
  examples = data("examples");
  captions = data("captions");
  state.given = data("given");
  const bytes = Uint8Array.from(atob($("core").textContent.trim()), (c) => c.charCodeAt(0));
  core = await Core.create(bytes);
  const pick = (item) => choose(item?.op ? item.number : -1);
  panels = new Panels(document, { pick: choose, hover, queueColor: (q) => theme().queue(q) });
  graph = new Graph($("graph"), { pick, hover: tip });
  lanes = new Lanes($("lanes"), { pick, hover: tip, label: "simulated" });
  real = new Lanes($("real"), { pick, hover: tip, label: "trace" });
  editor = new Editor($("editor"), edit);
  fillPrograms();
  listen();
  openLink();
  window.tidemark = { ...window.tidemark, core, state, picture, showTrace, openLink, paint: () => (paint(), paintTables()), painted: performance.now() };
}

begin().catch((problem) => {
  $("caption").textContent = "The page could not begin: " + problem.message;
  throw problem;
});
