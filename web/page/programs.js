// Choosing and editing programs, and links to them.
import { readLink, writeLink } from "tidemark/link.js";
import { el } from "tidemark/panels.js";
import { run, runLater } from "tidemark/run.js";
import { forgetParams } from "tidemark/settings.js";
import { $, findOperation, nameOperation, page, state } from "tidemark/state.js";
import { choose } from "tidemark/step.js";
import { TABS, setTab } from "tidemark/tabs.js";
import { stop } from "tidemark/transport.js";

export function openProgram(name, { link = null } = {}) {
  const story = page.captions[name] ?? {};
  state.program = name;
  state.edited = false;
  state.text = name === "given" ? state.given.text : page.examples[name];
  state.set = { ...(link ? link.set : story.set) };
  state.options = { ...(link ? link.options : story.options) };
  state.step = link?.step ?? 0;
  state.selected = -1;
  forgetParams();
  stop();
  page.editor.value = state.text;
  $("program").value = name;
  run({ keep: link && { step: link.step ?? 0, operation: link.operation } });
}

export function editProgram(text) {
  state.text = text;
  state.edited = true;
  $("program").value = ""; // so that the one it was made of can be chosen again
  stop();
  runLater(250);
}

export function fillPrograms() {
  const names = Object.keys(page.examples).sort((a, b) => order(a) - order(b) || a.localeCompare(b));
  $("program").replaceChildren(
    el("option", { value: "", hidden: true }, "Your program"),
    ...(state.given ? [el("option", { value: "given" }, state.given.name)] : []),
    ...names.map((name) => el("option", { value: name }, page.captions[name]?.title ?? name)),
  );
}
const order = (name) => (Object.keys(page.captions).indexOf(name) + 1 || 1000);

export function openLink(address = location.hash) {
  const link = readLink(address);
  setTab(TABS.includes(link.view) ? link.view : "timelines");
  // Only a name, as one writes it by hand: as if it was chosen from the list.
  const bare = link.step === null && !Object.keys({ ...link.set, ...link.options }).length;
  if (link.text !== null) {
    stop();
    Object.assign(state, { program: null, edited: true, text: link.text, set: link.set, options: link.options, selected: -1 });
    forgetParams();
    page.editor.value = link.text;
    $("program").value = "";
    run({ keep: { step: link.step ?? 0, operation: link.operation } });
  } else if (link.program && (Object.hasOwn(page.examples, link.program) || (link.program === "given" && state.given))) {
    openProgram(link.program, bare ? {} : { link });
    if (bare && link.operation) choose(findOperation(link.operation));
  } else openProgram(state.given ? "given" : "late_waiter");
}

export let hash = "";
let hashTimer = 0;
export function writeHash() {
  if (state.playing && hashTimer) return; // or it would be put off until the end
  clearTimeout(hashTimer);
  hashTimer = setTimeout(writeNow, state.playing ? 500 : 60);
}

export function writeNow() {
  clearTimeout(hashTimer);
  hashTimer = 0;
  hash = writeLink({
    program: state.program, text: state.edited ? state.text : null, set: state.set, options: state.options,
    step: state.step, operation: state.selected >= 0 && state.model ? nameOperation(state.selected) : "", view: state.tab === "timelines" ? "" : state.tab,
  });
  if (hash !== location.hash) history.replaceState(null, "", hash);
}
