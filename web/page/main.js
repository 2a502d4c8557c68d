// The page: listens to what is done, and begins.
import { Core } from "tidemark/core.js";
import { theme } from "tidemark/draw.js";
import { Editor } from "tidemark/editor.js";
import { Graph } from "tidemark/graph.js";
import { Lanes } from "tidemark/lanes.js";
import { NONE } from "tidemark/model.js";
import { Panels } from "tidemark/panels.js";
import { editProgram, fillPrograms, hash, openLink, openProgram, writeNow } from "tidemark/programs.js";
import { showTrace } from "tidemark/real_trace.js";
import { sizeLanes } from "tidemark/run.js";
import { fileName, picture, saveFile, savePng } from "tidemark/save.js";
import { $, page, state } from "tidemark/state.js";
import { choose, draw, go, hover, paint, paintTables, tip } from "tidemark/step.js";
import { TABS, setTab } from "tidemark/tabs.js";
import { toast } from "tidemark/toast.js";
import { handleKey, lastStep, play, stop } from "tidemark/transport.js";

const data = (id) => JSON.parse($(id).textContent);

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  draw();
}

function listen() {
  $("program").addEventListener("change", () => openProgram($("program").value));
  $("home").addEventListener("click", (e) => {
    e.preventDefault();
    openProgram("late_waiter");
  });
  $("take-settings").addEventListener("click", () => openProgram(state.program));
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
  $("save-svg").addEventListener("click", drawn(() => saveFile(fileName("svg"), new Blob([picture()], { type: "image/svg+xml" }))));
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
      page.graph.follow(state.selected);
    }
    go(state.model.stepOf(entry.index));
  });
  // A button that is drawn anew below the mouse never hears that it has left.
  document.addEventListener("mouseover", (e) => e.target.closest?.("button.op, canvas") || hover(-1));
  document.documentElement.addEventListener("mouseleave", () => hover(-1));
  document.addEventListener("keydown", handleKey);
  window.addEventListener("resize", () => {
    sizeLanes();
    page.graph.fitted = false;
    draw();
  });
  window.addEventListener("hashchange", () => location.hash !== hash && openLink());
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (e) => setTheme(e.matches ? "dark" : "light"));
}

async function begin() {
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  if (new URLSearchParams(location.search).has("inline")) document.body.classList.add("inline");
  page.examples = data("examples");
  page.captions = data("captions");
  state.given = data("given");
  const bytes = Uint8Array.from(atob($("core").textContent.trim()), (c) => c.charCodeAt(0));
  page.core = await Core.create(bytes);
  const pick = (item) => choose(item?.op ? item.number : -1);
  page.panels = new Panels(document, { pick: choose, hover, queueColor: (q) => theme().queue(q) });
  page.graph = new Graph($("graph"), { pick, hover: tip });
  page.lanes = new Lanes($("lanes"), { pick, hover: tip, label: "simulated" });
  page.real = new Lanes($("real"), { pick, hover: tip, label: "trace" });
  page.editor = new Editor($("editor"), editProgram);
  fillPrograms();
  listen();
  openLink();
  window.tidemark = { ...window.tidemark, core: page.core, state, picture, showTrace, openLink, paint: () => (paint(), paintTables()), painted: performance.now() };
}

begin().catch((problem) => {
  $("caption").textContent = "The page could not begin: " + problem.message;
  throw problem;
});
