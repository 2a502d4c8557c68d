// Settings: the parameters of the program, and the options of the simulation.
import { timeText } from "tidemark/lanes.js";
import { el } from "tidemark/panels.js";
import { runLater } from "tidemark/run.js";
import { $, state } from "tidemark/state.js";

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

function slider(id, label, input, value) {
  input.id = id;
  return el("div", { class: "slider" }, el("label", { for: id }, label), el("output", { for: id }, value), input);
}

let made = ""; // the parameters whose sliders are there

// The next run makes all sliders anew.
export function forgetParams() {
  made = "";
}

export function makeParams() {
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
  runLater(120);
}

export function makeOptions() {
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
    runLater(120);
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
    runLater(120);
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
    runLater(120);
  });
  row.refresh();
  return row;
}
