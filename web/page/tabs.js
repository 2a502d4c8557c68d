// The tabs beside the pictures.
import { el } from "tidemark/panels.js";
import { $, page, state } from "tidemark/state.js";
import { draw } from "tidemark/step.js";

export const TABS = ["timelines", "queues", "buffers", "events"];
export function setTab(name) {
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

export function drawTab(at) {
  const panel = $("panel");
  const draw = { timelines: "drawTimelines", queues: "drawQueues", buffers: "drawBuffers" }[state.tab];
  if (draw) {
    page.panels[draw](panel, at);
    return;
  }
  if (!panel.querySelector(".log")) panel.replaceChildren(el("div", { class: "log", style: `height: ${state.model.logCount * 24}px` }));
  if (panel.dataset.step !== String(state.step)) {
    panel.dataset.step = state.step;
    const row = Math.max(0, at - 1) * 24;
    if (row < panel.scrollTop || row > panel.scrollTop + panel.clientHeight - 30) panel.scrollTop = Math.max(0, row - panel.clientHeight / 2);
  }
  page.panels.drawLog(panel, at, state.step);
}
