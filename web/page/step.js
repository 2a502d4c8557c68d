// The step that is shown: going to another, and painting the pictures and tables of it.
import { attend, resolved, tellCaption } from "tidemark/captions.js";
import { theme } from "tidemark/draw.js";
import { timeText } from "tidemark/lanes.js";
import { STATE } from "tidemark/model.js";
import { writeHash } from "tidemark/programs.js";
import { $, page, state } from "tidemark/state.js";
import { drawTab } from "tidemark/tabs.js";

export function go(step) {
  const model = state.model;
  if (!model) return;
  const before = state.step;
  state.step = Math.max(0, Math.min(Math.round(step), model.stepCount));
  $("scrub").value = state.step;
  if (state.playing && state.step !== before) for (const c of resolved) if (c.step > before && c.step <= state.step) attend(c);
  draw();
}

let frame = 0;
export function draw() {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    paint();
  });
}

export function paint() {
  const model = state.model;
  if (!model) return;
  const at = model.at(state.step);
  const time = model.time(state.step);
  const how = look(at, time);
  if (state.playing) page.lanes.follow(time);
  page.graph.draw(how);
  page.lanes.draw(how);
  if (state.trace) page.real.draw({ ...how, time: -1 });
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
export function paintTables() {
  const at = state.model.at(state.step);
  keepFocus($("operation"), () => page.panels.drawOperation($("operation"), state.selected, at));
  keepFocus($("panel"), () => drawTab(at));
  page.editor.point(state.model.operations[state.selected]?.line ?? 0);
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
export function look(at, time) {
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

export function choose(number) {
  state.selected = number ?? -1;
  if (state.selected >= 0) page.graph.follow(state.selected);
  draw();
}

export function hover(number) {
  if (state.hovered === number) return;
  state.hovered = number;
  draw();
}

export function tip(item, event) {
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
      (op.start >= 0 ? `\n${timeText(op.start)} to ${timeText(op.end)}` : "") + page.panels.really(op.number, "\n")
    : item.name;
  box.style.left = Math.min(event.clientX + 14, window.innerWidth - 330) + "px";
  box.style.top = Math.min(event.clientY + 16, window.innerHeight - 90) + "px";
  hover(op ? op.number : -1);
}
