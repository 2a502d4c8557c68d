// Playing, and the keyboard.
import { captionNow, toCaption } from "tidemark/captions.js";
import { $, page, state } from "tidemark/state.js";
import { choose, draw, go } from "tidemark/step.js";

let last = 0;
export const lastStep = () => state.model?.stepCount ?? 0;
export function play() {
  if (!state.model) return;
  if (state.step >= state.model.stepCount) go(0);
  state.playing = true;
  icon("M4 3h3v10H4zM9 3h3v10H9z");
  $("play").setAttribute("aria-label", "Pause");
  last = performance.now();
  requestAnimationFrame(tick);
}

const icon = (path) => $("play").querySelector("path").setAttribute("d", path);

export function stop() {
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

export function handleKey(event) {
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
    "+": () => page.graph.zoom(1.2), "-": () => page.graph.zoom(0.83),
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
