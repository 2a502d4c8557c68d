// What it costs, printed; nothing fails for being slow. And two things that must not grow.
import { check, BUILD, execFileSync, fs, must, open, path, ROOT } from "./rig.mjs";

const SETTINGS = ["operations=94500", "devices=8", "together=0"]; // about 100 000 operations

const file = path.join(ROOT, "examples/fleet.tide");

// Milliseconds that the simulation takes in the page, the best of three, and how many operations there are.
export async function measureRun(browser) {
  const page = await open(browser, "#p=hello");
  const measured = await page.evaluate(([text, set]) => {
    const { core } = window.tidemark;
    let best = Infinity;
    for (let i = 0; i < 3; i++) best = Math.min(best, core.run(text, set, {}).took);
    return [best, core.view("operations").count];
  }, [fs.readFileSync(file, "utf8"), Object.fromEntries(SETTINGS.map((s) => s.split("=")))]);
  await page.close();
  return measured;
}

// Milliseconds until the first picture of a program.
export async function measurePaint(browser) {
  const page = await open(browser, "#p=diamond");
  const painted = await page.evaluate(() => window.tidemark.painted);
  await page.close();
  return painted;
}

export async function measureFrames(browser) {
  const page = await open(browser, "#p=fleet&set.operations=10000&set.devices=8&set.together=0", { width: 1920, height: 1080 });
  const shown = await page.evaluate(frames);
  await page.close();
  return shown;
}

export async function figures(browser) {
  await check("size_core", () => must(fs.statSync(path.join(BUILD, "core.wasm")).size <= 420000, "more than 420 KB"));
  await check("size_library", () => must(fs.statSync(path.join(ROOT, "web/vendor/dagre/dagre.js")).size <= 100000, "more than 100 KB"));
  await check("simulates_100000", async () => {
    const [took, count] = await measureRun(browser);
    must(count >= 100000, `${count} operations`);
    const here = Number(execFileSync(path.join(BUILD, "view-time"), [file, ...SETTINGS], { encoding: "utf8" })) / 1e6;
    console.log(`  ${count} operations: ${took.toFixed(0)} ms in the page, ${here.toFixed(0)} ms natively, ${(took / here).toFixed(2)} times`);
  });
  await check("paints", async () => console.log(`  first picture of a program after ${(await measurePaint(browser)).toFixed(0)} ms`));
  await check("draws_10000", async () => {
    const shown = await measureFrames(browser);
    must(shown.operations >= 10000, `${shown.operations} operations`);
    console.log(`  ${shown.operations} operations: ${shown.scrub.toFixed(0)} frames a second when scrubbing, ${shown.pan.toFixed(0)} when panning, ${shown.lanes.toFixed(0)} with all of the lanes in sight`);
  });
}

// In the page: frames a second, from what drawing one takes.
async function frames() {
  const { model, go, graph, lanes } = window.tidemark;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const rate = async (count, turn) => {
    const start = performance.now();
    for (let i = 0; i < count; i++) {
      turn(i);
      await frame();
    }
    return (count * 1000) / (performance.now() - start);
  };
  const scrub = await rate(60, (i) => go(Math.floor((model.stepCount * i) / 60)));
  const pan = await rate(60, (i) => {
    graph.view.x -= 25;
    graph.zoom(i % 2 ? 0.97 : 1.02);
    graph.draw(graph.state);
  });
  lanes.fit();
  const all = await rate(60, () => lanes.draw(lanes.state));
  return { operations: model.operations.length, scrub, pan, lanes: all };
}
