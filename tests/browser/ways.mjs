// Ways to use the page: the editor, links, the keyboard, a screen reader.
import fs from "node:fs";
import { createRequire } from "node:module";
import { check, must, native, open, path, same, settle, unproblematic, until, WORK } from "./rig.mjs";

const WRONG = [
  ["name", "device c cpu\nqueue q on d\n"],
  ["syntax", "device c cpu\nqueue q on c\nq: fill\n  wait\n"],
  ["never", "device c cpu\nqueue q on c\ntimeline t\nbuffer b 8\nq: fill b  wait t >= 3\n"],
  ["circle", "device c cpu\nqueue a, b on c\ntimeline s, t\nbuffer x, y 8\na: fill x  wait t >= 1  signal s = 1\nb: fill y  wait s >= 1  signal t = 1\n"],
  ["down", "device c cpu\nqueue q on c\ntimeline t\nbuffer b 8\nq: fill b  signal t = 3\nq: fill b  signal t = 2\n"],
];

async function type(page, text) {
  await page.fill("#text", text);
  await page.waitForTimeout(350);
  await settle(page);
}

export async function editorErrors(browser) {
  const page = await open(browser, "#p=hello");
  for (const [name, text] of WRONG)
    await check(`editor_${name}`, async () => {
      const file = path.join(WORK, "wrong.tide");
      fs.writeFileSync(file, text);
      const expected = native("explain", file).err.trim().split("\n").map((l) => l.replace(`${file}:`, ""));
      await type(page, text);
      const got = await page.$$eval(".errors button", (list) => list.map((b) => b.textContent.trim().replace(/^(\d+:\d+) /, "$1: ")));
      same(got.join("\n"), expected.join("\n"), "the list of errors");
      const [line] = got[0].split(":").map(Number);
      must(await page.$eval(`.numbers > div:nth-child(${line})`, (e) => e.classList.contains("wrong")), `line ${line} is not marked`);
      await page.click(".errors button");
      must(await page.$eval("#text", (t, l) => t.value.slice(0, t.selectionStart).split("\n").length === l, line), "the caret is not there");
    });
  await check("editor_mended", async () => {
    await type(page, "device c cpu\nqueue q on c\nbuffer b 8\nq: fill b, 3\n");
    must((await page.$$(".errors li:not([hidden]) button")).length === 0, "errors are left");
    must((await page.evaluate(() => window.tidemark.model.operations.length)) === 1, "it was not run");
    must((await page.textContent("#h-story")) === "Your program", "it has another program's name");
    must(!(await page.evaluate(() => document.body.classList.contains("stale"))), "the pictures are said to be old");
  });
  await check("editor_says_that_pictures_are_old", async () => {
    await type(page, "device c cpu\nqueue q on c\nbuffer b 8\nq: fill c, 3\n");
    must((await page.textContent("#counts")).includes("the pictures show what ran before"), await page.textContent("#counts"));
    must(await page.evaluate(() => document.body.classList.contains("stale")), "they look new");
    unproblematic(page);
  });
  await page.close();
}

export async function deepLinks(browser) {
  const picture = (page) => page.evaluate(() => window.tidemark.picture());
  await check("link_scenario", async () => {
    const page = await open(browser, "#p=diamond&set.rounds=2&sim.workers=1&step=9&op=bottom@1&tab=queues");
    const shown = await page.evaluate(() => ({ step: window.tidemark.state.step, selected: window.tidemark.state.selected, tab: window.tidemark.state.tab, rounds: window.tidemark.model.tables.params.find((p) => p.name === "rounds").value }));
    same(JSON.stringify(shown), JSON.stringify({ step: 9, selected: 3, tab: "queues", rounds: 2 }), "the state");
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(200);
    const again = await open(browser, await page.evaluate(() => location.hash));
    same(await picture(again), await picture(page), "the picture");
    await page.close();
    await again.close();
  });
  await check("link_text", async () => {
    const page = await open(browser, "#p=hello");
    await type(page, "# täglich ≥ 1\ndevice c cpu\nqueue q on c\nbuffer b 8\nq: fill b, 1\nq: fill b, 2\n");
    await page.keyboard.press("Escape");
    await page.evaluate(() => window.tidemark.go(4));
    await page.waitForTimeout(200);
    const again = await open(browser, await page.evaluate(() => location.hash));
    same(await again.inputValue("#text"), await page.inputValue("#text"), "the text");
    same(await picture(again), await picture(page), "the picture");
    await page.close();
    await again.close();
  });
  await check("link_nonsense", async () => {
    for (const hash of ["#p=nothing", "#text=%%%", "#step=999999999&p=hello", "#p=hello&op=left@99&tab=x&sim.mode=7", "#p=hello&set.nothing=1"]) {
      const page = await open(browser, hash);
      unproblematic(page);
      await page.close();
    }
  });
}

export async function keyboard(browser) {
  const page = await open(browser, "#p=late_waiter&sim.step=1200000");
  const at = () => page.evaluate(() => ({ step: window.tidemark.state.step, selected: window.tidemark.state.selected, last: window.tidemark.model.stepCount }));
  const press = async (...names) => {
    for (const key of names) await page.keyboard.press(key);
    await settle(page);
  };
  await check("keys_step", async () => {
    await press("ArrowRight", "ArrowRight", "ArrowLeft");
    must((await at()).step === 1, `step ${(await at()).step}`);
    await press("End");
    must((await at()).step === (await at()).last, "End");
    await press("Home");
    must((await at()).step === 0, "Home");
  });
  await check("keys_captions", async () => {
    await press("]", "]", "]");
    await until(page, () => document.querySelector("#caption").textContent.includes("late knows steps@2 and not steps@5"));
    await until(page, () => document.querySelector("#operation").textContent.includes("steps@2 has signalled it"));
    await press("[");
    await until(page, () => document.querySelector("#caption").textContent.includes("Now late arrives"));
  });
  await check("keys_play", async () => {
    await press("Home");
    await page.selectOption("#speed", "1000");
    await page.evaluate(() => document.activeElement.blur());
    await press(" ");
    await until(page, () => window.tidemark.state.step === window.tidemark.model.stepCount);
  });
  await check("keys_graph", async () => {
    await page.focus("#graph");
    await press("Escape", "ArrowRight", "ArrowRight");
    must((await at()).selected === 1, `selected ${(await at()).selected}`);
    await press("ArrowDown");
    await until(page, () => document.querySelector("#operation").textContent.startsWith("late@1"));
  });
  await check("keys_tabs", async () => {
    await page.focus("#tab-timelines");
    await press("ArrowRight");
    must((await page.getAttribute("#tab-queues", "aria-selected")) === "true", "the next tab");
    must(await page.evaluate(() => document.activeElement.id === "tab-queues"), "the focus stays");
  });
  // From the top of the page by Tab alone: everything that can be done has its turn, and shows where it is.
  await check("keys_reach", async () => {
    await page.evaluate(() => document.activeElement.blur());
    const seen = new Set();
    for (let i = 0; i < 120; i++) {
      await page.keyboard.press("Tab");
      seen.add(await page.evaluate(() => document.activeElement.id));
    }
    for (const id of ["program", "theme", "set-words", "option-frontier", "text", "graph", "scrub", "play", "tab-queues", "speed"]) must(seen.has(id), `Tab does not reach ${id}`);
    unproblematic(page);
  });
  await page.close();
}

export async function accessibility(browser) {
  const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  for (const [name, hash, how] of [
    ["light", "#p=late_waiter&sim.step=1200000&step=14&op=late@1", {}],
    ["dark", "#p=reuse&sim.paused=1&step=22&op=gate@4&tab=buffers", { dark: true }],
    ["events", "#p=eviction&sim.frontier=3&step=20&op=report@2&tab=events", {}],
    ["queues", "#p=speculative&step=20&op=verify@5&tab=queues", { dark: true }],
    ["inline", "#p=diamond&step=8&op=bottom@1", { search: "?inline" }],
    ["errors", "#text=cXVldWU&step=0", {}],
    ["errors_dark", "#text=cXVldWU&step=0", { dark: true }],
    ["buffers_dark", "#p=paging&set.pages=8&set.sweeps=2&step=60&op=work@9&tab=buffers", { dark: true }],
    ["events_dark", "#p=take&step=40&op=use@2&tab=events", { dark: true }],
    ["small", "#p=eviction&sim.frontier=8&step=20&op=report@2", { width: 640, height: 400 }],
  ])
    await check(`axe_${name}`, async () => {
      const page = await open(browser, hash, how);
      // Not as an inline script: the page's own policy forbids what it did not bring, so it is evaluated.
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await window.axe.run(document)).violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 120)} ${v.nodes[0].failureSummary.slice(0, 160)}`));
      must(!found.length, found.join(" | "));
      unproblematic(page);
      await page.close();
    });
}
