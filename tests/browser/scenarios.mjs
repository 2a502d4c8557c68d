// Every scenario to its end; what it says of each operation is what the native tool says; and no label
// is cut, no two things lie on each other.
import { check, fs, must, native, open, path, ROOT, same, settle, unproblematic, WORK } from "./rig.mjs";

const captions = JSON.parse(fs.readFileSync(path.join(ROOT, "web/captions.json"), "utf8"));

// One page for all: it goes from link to link.
export async function scenarios(browser) {
  const programs = fs.readdirSync(path.join(ROOT, "examples")).filter((f) => f.endsWith(".tide")).map((f) => f.slice(0, -5));
  const page = await open(browser);
  const go = async (hash) => {
    page.problems.length = 0;
    await page.evaluate((h) => window.tidemark.openLink(h), hash);
  };
  for (const name of programs) {
    await check(`captions_${name}`, () => {
      const count = captions[name]?.captions.length ?? 0;
      must(count >= 3 && count <= 6, `web/captions.json has ${count} captions for it; expected three to six`);
    });
    await check(`plays_${name}`, async () => {
      await go(linkOf(name));
      await plays(page, name);
    });
    await check(`granted_${name}`, () => granted(page));
    await check(`explains_${name}`, () => explains(page, go, name));
    for (const [width, height] of [[1280, 800], [1920, 1080]])
      await check(`fits_${name}_${width}`, async () => {
        await page.setViewportSize({ width, height });
        await go(linkOf(name));
        await fits(page, name, width);
      });
  }
  await page.close();
}

// What a first reader looks for is on the page when its caption speaks: in the operation, or in the table beside.
const ANSWERS = [
  ["late_waiter", 2, "#operation", /steps@2/, /steps@5/],
  ["eviction", 3, "#operation", /n ≥ 1issued.*report knows nothing after it/s, null],
  ["reuse", 3, "#panel", /used again at once: the queue knows that its last use is over.*last uses draw@/s, /the host/],
  ["reuse", 4, "#panel", /freed by gate.*everybody, at once: all its uses have finished/s, /in use/],
];

export async function answers(browser) {
  const page = await open(browser);
  for (const [name, caption, where, says, not] of ANSWERS)
    await check(`answers_${name}_${caption + 1}`, async () => {
      await page.evaluate((h) => window.tidemark.openLink(h), linkOf(name));
      await page.evaluate((n) => {
        window.tidemark.toCaption(n);
        window.tidemark.paint();
      }, caption);
      await page.waitForTimeout(200);
      const text = await page.textContent(where);
      must(says.test(text), `it does not say ${says}: ${text}`);
      must(!not || !not.test(text), `it says ${not}: ${text}`);
    });
  await page.close();
}

const linkOf = (name) => `#p=${name}&step=0` + options(name).map(([k, v]) => `&${k}=${v}`).join("");
function options(name, more = {}) {
  const story = captions[name] ?? {};
  return [
    ...Object.entries(story.set ?? {}).map(([k, v]) => ["set." + k, v]),
    ...Object.entries({ ...story.options, ...more }).map(([k, v]) => ["sim." + k, v]),
  ];
}

// Each step is drawn; of long programs, about 100 of them. Then all steps back.
async function plays(page, name) {
  const outcome = await page.evaluate(() => {
    const { model, go, captions, paint } = window.tidemark;
    const by = Math.max(1, Math.floor(model.stepCount / 100));
    for (let step = 0; step <= model.stepCount; step += by) {
      go(step);
      paint();
    }
    for (let step = model.stepCount; step >= 0; step -= by * 7) {
      go(step);
      paint();
    }
    go(model.stepCount);
    paint();
    const ended = model.operations.filter((op) => model.state(op, model.at(model.stepCount)) === 4).length;
    return { ended, all: model.operations.length, status: model.result.status, captions: captions.map((c) => c.at) };
  });
  must(outcome.status === "TIDE_OK", outcome.status);
  must(outcome.ended === outcome.all, `${outcome.ended} of ${outcome.all} operations ended`);
  must(outcome.captions.length === captions[name].captions.length, `captions with a step: ${outcome.captions}`);
  unproblematic(page);
}

// What the table of queues says that the next operation of each may take for granted, that one then knows, unless it
// lost entries for what it imports.
async function granted(page) {
  const wrong = await page.evaluate(() => {
    const { model, go, paint } = window.tidemark;
    document.getElementById("tab-queues").click();
    const list = [];
    for (let step = 1; step <= Math.min(model.stepCount, 150); step++) {
      go(step);
      paint();
      [...document.querySelectorAll("#panel tbody tr")].forEach((row, queue) => {
        const said = [...row.querySelectorAll(".frontier .op")].map((e) => e.textContent);
        const last = model.queueAt(queue, model.at(step)).last;
        const next = model.byEpoch[queue][(last?.epoch ?? 0) + 1];
        if (!next?.known) return;
        const { entries, tainted } = model.frontier(next.known);
        if (tainted) return;
        const knows = entries.map((e) => [model.axisName(e.axis), e.epoch]);
        for (const entry of said) {
          const [axis, epoch] = entry.split("@");
          if (!knows.some(([a, e]) => a === axis && e >= Number(epoch))) list.push(`step ${step}: ${row.textContent} has ${entry}`);
        }
      });
    }
    document.getElementById("tab-timelines").click();
    return list;
  });
  must(!wrong.length, wrong.slice(0, 3).join("; "));
}

// The same text as `tidemark explain --json`, and what the page shows comes from it.
async function explains(page, go, name) {
  const story = captions[name] ?? {};
  const words = Object.entries(story.set ?? {}).flatMap(([k, v]) => ["--set", `${k}=${v}`]);
  if (story.options?.frontier) words.push("--frontier", story.options.frontier);
  if (story.options?.memory) words.push("--memory", story.options.memory);
  const file = path.join(ROOT, "examples", name + ".tide");
  const done = native("explain", file, "--json", ...words);
  must(done.status === 0, done.err);
  const hash = `#p=${name}&step=0` + options(name, { paused: 1, step: 0 }).map(([k, v]) => `&${k}=${v}`).join("");
  await go(hash);
  same(await page.evaluate((f) => window.tidemark.core.explain(f), file), done.out, "the explanation");
  const expected = JSON.parse(done.out).operations;
  const shown = await page.evaluate((most) => {
    const { model, choose, paint } = window.tidemark;
    const classes = ["failed", "resolved", "elided", "issued", "held"];
    const list = [];
    for (const op of model.operations.slice(0, most)) {
      choose(op.number);
      paint();
      list.push({
        text: document.getElementById("operation").textContent,
        frontier: model.frontierText(model.frontier(op.known)),
        waits: model.waitsOf(op).map((w) => (w.value < 0 ? "memory" : `${model.tables.timelines[w.timeline]?.label}>=${w.value}`) + " " + classes[w.class]),
      });
    }
    return list;
  }, 120);
  const queues = JSON.parse(done.out).queues;
  const names = Object.fromEntries(Object.entries(queues).map(([label, axis]) => [axis, label]));
  const together = /^collective (\w+)/m.exec(fs.readFileSync(file, "utf8"));
  if (together) names["collective:0.1"] = together[1];
  shown.forEach((s, i) => {
    const e = expected[i];
    same(s.waits.join(), e.waits.map((w) => (w.memory_of ? "memory" : `${w.timeline}>=${w.value}`) + " " + w.class).join(), `waits of operation ${i}`);
    for (const w of e.waits) must(s.text.includes(w.why), `operation ${i} does not show "${w.why}" but "${s.text}"`);
    same(s.frontier.replace(/[{}~ ]/g, "").split(",").sort().join(), frontier(e.frontier, names), `frontier of operation ${i}`);
    must(e.frontier.endsWith("~") === s.frontier.endsWith("~"), `taint of operation ${i}`);
  });
  unproblematic(page);
}

// "{queue:0.1@2, …}" by the queues' names, in the page's order.
function frontier(text, names) {
  return text.replace(/[{}~ ]/g, "").split(",").map((entry) => {
    const [axis, epoch] = entry.split("@");
    return axis ? `${names[axis] ?? "the host"}@${epoch}` : "";
  }).sort().join();
}

// In the page: the chosen operation if the graph does not show it, or that it shows none.
function outOfSight() {
  const { graph, state, model } = window.tidemark;
  const shown = graph.visible(graph.size.width, graph.size.height);
  if (state.selected < 0) return shown.length ? "" : "all that there is";
  return shown.some((node) => node.op.number === state.selected) ? "" : model.operationName(state.selected);
}

// A picture of each caption, to be looked at: $WORK/NAME-WIDTH-N.png.
async function fits(page, name, width) {
  const last = await page.evaluate(() => window.tidemark.captions.length - 1);
  for (let i = 0; i <= last; i++) {
    await page.evaluate((n) => {
      window.tidemark.toCaption(n);
      window.tidemark.paint();
    }, i);
    const away = await page.evaluate(outOfSight);
    must(!away, `caption ${i + 1}: ${away} is out of sight`);
    const wrong = await page.evaluate(looks);
    must(!wrong.length, `caption ${i + 1}: ${wrong.join("; ")}`);
    if (width === 1280 ? i > 0 && i < last : i === 1) {
      await settle(page);
      await page.screenshot({ path: path.join(WORK, `${name}-${width}-${i + 1}.png`) });
    }
  }
  unproblematic(page);
}

// In the page: labels that are cut, and things that lie on each other.
function looks() {
  const wrong = [];
  const visible = (e) => e.getClientRects().length > 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4, button:not(.entry), label, th, dt, dd, output, .counts, .class, li, #caption"))
    if (visible(e) && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline") wrong.push(`"${e.textContent.slice(0, 40)}" is cut`);
  const bars = [...document.querySelectorAll("header > *, footer > *, .story-head > *, .picture .bar > *")].filter(visible);
  for (let i = 1; i < bars.length; i++) {
    const a = bars[i - 1].getBoundingClientRect();
    const b = bars[i].getBoundingClientRect();
    if (bars[i - 1].parentElement === bars[i].parentElement && a.right > b.left + 1 && a.bottom > b.top + 1 && a.top < b.bottom - 1)
      wrong.push(`"${bars[i].textContent.slice(0, 30)}" lies on "${bars[i - 1].textContent.slice(0, 30)}"`);
  }
  const body = document.documentElement;
  if (body.scrollWidth > body.clientWidth || body.scrollHeight > body.clientHeight + 1) wrong.push("the page scrolls");
  const { graph, lanes } = window.tidemark;
  const nodes = [...graph.nodes].sort((a, b) => a.x - b.x);
  for (let i = 0; i < nodes.length; i++)
    for (let j = i + 1; j < nodes.length && nodes[j].x < nodes[i].x + nodes[i].w; j++)
      if (nodes[i].y < nodes[j].y + nodes[j].h && nodes[j].y < nodes[i].y + nodes[i].h) wrong.push(`${nodes[i].title} lies on ${nodes[j].title}`);
  for (const cut of graph.cut ?? []) wrong.push(`in the graph "${cut}" is cut`);
  for (const cut of lanes.cut ?? []) wrong.push(`lane "${cut}" is cut`);
  for (const canvas of document.querySelectorAll("canvas")) if (visible(canvas) && canvas.clientHeight < 60) wrong.push(`${canvas.id} has no room`);
  return wrong.slice(0, 8);
}
