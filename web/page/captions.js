// Captions: the story that goes with a program, by steps.
import { el } from "tidemark/panels.js";
import { $, findOperation, page, state } from "tidemark/state.js";
import { go } from "tidemark/step.js";
import { setTab } from "tidemark/tabs.js";

export let resolved = []; // the captions of the program that happen, by step

export function resolveCaptions() {
  const story = state.edited ? null : page.captions[state.program];
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

export function titleOf(story) {
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

export function captionNow() {
  let now = -1;
  resolved.forEach((c, i) => {
    if (c.step <= state.step) now = i;
  });
  return now;
}

// What a caption speaks of: an operation, perhaps a table.
export function attend(caption) {
  state.selected = caption.look ? findOperation(caption.look) : -1;
  if (state.selected >= 0) page.graph.follow(state.selected);
  if (caption.tab && caption.tab !== state.tab) setTab(caption.tab);
}

export function toCaption(i) {
  if (!resolved.length) return;
  const c = resolved[Math.max(0, Math.min(i, resolved.length - 1))];
  attend(c);
  go(c.step);
}

export function tellCaption() {
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
