// Odd ways to use the page: each of these once went wrong.
import { check, fs, must, native, open, path, same, settle, unproblematic, until, WORK } from "./rig.mjs";

const HEAD = "device c cpu\nqueue q on c\ntimeline t\nbuffer b 8\n";
const counted = (parameter) => `${parameter}\n${HEAD}for i in 0..${/param (\w+)/.exec(parameter)[1]} {\n  q: fill b\n}\n`;

async function type(page, text) {
  await page.fill("#text", text);
  await page.waitForTimeout(350);
  await settle(page);
}

async function move(page, id, value) {
  await page.evaluate(([to, v]) => {
    const input = document.getElementById(to);
    input.value = v;
    input.dispatchEvent(new Event("input"));
  }, [id, value]);
  await page.waitForTimeout(250);
  await settle(page);
}

// A case with a page of its own.
async function odd(browser, name, hash, body, how) {
  await check(`odd_${name}`, async () => {
    const page = await open(browser, hash, how);
    await body(page);
    unproblematic(page);
    await page.close();
  });
}

const state = (page) => page.evaluate(() => {
  const { step, selected, hovered, tab } = window.tidemark.state;
  return { step, selected, hovered, tab, operations: window.tidemark.model?.operations.length };
});

export async function oddWays(browser) {
  await texts(browser);
  await links(browser);
  await pointing(browser);
  await windows(browser);
}

async function texts(browser) {
  await odd(browser, "slider_follows_text", "#p=hello", async (page) => {
    await type(page, counted("param n = 4"));
    await type(page, counted("param n = 7"));
    same(await page.inputValue("#set-n"), "7", "the slider");
    same(await page.textContent("#params output"), "7", "its value");
    await type(page, counted("param n = -3").replace("0..n", "n..0"));
    same(await page.inputValue("#set-n"), "-3", "below 0");
    await move(page, "set-n", -5);
    must((await state(page)).operations === 5, "it was not run again");
  });
  await odd(browser, "parameter_is_renamed", "#p=hello", async (page) => {
    await type(page, counted("param n = 4"));
    await move(page, "set-n", 6);
    await type(page, counted("param m = 3"));
    same(await page.textContent(".errors"), "", "errors");
    must((await state(page)).operations === 3, "it was not run");
  });
  await odd(browser, "wrong_text_keeps_the_answers", "#p=diamond&step=12&op=bottom@1", async (page) => {
    await type(page, "oops");
    for (const name of ["right@1", "bottom@3"]) {
      await page.evaluate((n) => window.tidemark.choose(window.tidemark.model.operations.findIndex((op) => window.tidemark.model.operationName(op.number) === n)), name);
      await page.waitForTimeout(150);
      const text = await page.textContent("#operation");
      must(text.startsWith(name) && text.includes("Its waits") && !text.includes("waits for nothing"), text);
    }
  });
  await odd(browser, "wide_letters", "#p=hello", async (page) => {
    await type(page, `${HEAD}q: fill b label "äöü€𝄞" wrong\nq: fill b, é\n`);
    const marks = await page.$$eval(".layer mark", (list) => list.map((m) => m.textContent));
    same(marks.join(), "wrong,é", "what is marked");
    await page.click(".errors button");
    same(await page.$eval("#text", (t) => t.value.slice(t.selectionStart, t.selectionStart + 5)), "wrong", "where the caret is");
  });
  await odd(browser, "long_names", "#p=hello", async (page) => {
    const name = "a_queue_with_a_name_that_is_longer_than_what_it_does";
    await type(page, HEAD.replace("queue q", `queue ${name}, q`) + `${name}: fill b  label "${"many words ".repeat(20)}"  signal t = 1\nq: fill b  wait t >= 1\n`);
    await page.evaluate(() => window.tidemark.choose(1));
    await settle(page);
    const wide = await page.evaluate(() => {
      const { graph } = window.tidemark;
      const region = document.getElementById("operation");
      const texts = new DOMParser().parseFromString(window.tidemark.picture(), "image/svg+xml").querySelectorAll("text");
      return { cut: graph.cut.length, region: region.scrollWidth - region.clientWidth, longest: Math.max(...[...texts].map((t) => t.textContent.length)) };
    });
    must(wide.cut === 2 && wide.region <= 0 && wide.longest < 60, JSON.stringify(wide));
  });
  await check("odd_nothing_to_show", async () => {
    const file = path.join(WORK, "my_wrong.tide");
    const out = path.join(WORK, "wrong.html");
    fs.writeFileSync(file, "queue q on c\r\noops\r\n");
    must(native("view", "--export", out, file).status === 0, "the export");
    const page = await open(browser, "", { url: "file://" + out });
    for (const key of [" ", "End", "Home", "ArrowRight", "[", "]", "Escape"]) await page.keyboard.press(key);
    for (const id of ["first", "back", "play", "next", "last", "save-svg", "save-png", "theme", "tab-events", "tab-buffers"]) await page.click("#" + id);
    await page.focus("#graph");
    await page.keyboard.press("ArrowRight");
    await page.evaluate(() => window.tidemark.showTrace("[]"));
    same(await page.textContent("#toast"), "a trace is shown below a program, and there is none yet", "about the trace");
    same(await page.textContent("#h-story"), "my wrong", "the title");
    must((await page.textContent("#caption")).startsWith("It could not be read"), "it does not say what is the matter");
    await type(page, HEAD + "q: fill b\n");
    must((await state(page)).operations === 1, "it was not run");
    unproblematic(page);
    await page.close();
  });
}

async function links(browser) {
  await odd(browser, "link_is_of_now", "#p=diamond", async (page) => {
    await page.evaluate(() => ["next", "next", "copy-link"].forEach((id) => document.getElementById(id).click()));
    must((await page.evaluate(() => location.hash)).includes("step=2"), await page.evaluate(() => location.hash));
  });
  await odd(browser, "link_while_playing", "#p=diamond", async (page) => {
    await page.selectOption("#speed", "20");
    await page.click("#play");
    await until(page, () => /step=[1-9]/.test(location.hash) && window.tidemark.state.playing);
  });
  await odd(browser, "link_names_no_program", "#p=toString", async (page) => {
    for (const hash of ["#p=toString", "#p=constructor", "#p=__proto__", "#p=given"]) {
      await page.evaluate((h) => window.tidemark.openLink(h), hash);
      same(await page.inputValue("#program"), "late_waiter", `the program of ${hash}`);
    }
  });
  await odd(browser, "link_of_a_name_alone", "#p=eviction", async (page) => {
    must(await page.evaluate(() => window.tidemark.model.result.tainted > 0), "the captions speak of another run");
  });
  await odd(browser, "captions_of_other_settings", "#p=eviction", async (page) => {
    must(!(await page.isVisible("#caption-note")), "it doubts its own words");
    await move(page, "option-frontier", 8);
    must(await page.isVisible("#caption-note"), "the captions speak of room for 3, and there is room for 8");
    await page.click("#take-settings");
    await settle(page);
    must(!(await page.isVisible("#caption-note")) && (await page.inputValue("#option-frontier")) === "3", "the settings did not come back");
  });
  await odd(browser, "link_to_another_tab", "#p=diamond&step=3&tab=queues", async (page) => {
    await page.evaluate(() => window.tidemark.openLink("#p=diamond&step=4"));
    must((await state(page)).tab === "timelines", "the tab stays");
  });
  await odd(browser, "link_with_errors", "#text=cXVldWU&step=0", async (page) => {
    must((await state(page)).operations === undefined, "another program is shown");
    same(await page.textContent("#h-story"), "Your program", "the title");
  });
  await odd(browser, "back_to_the_example", "#p=diamond", async (page) => {
    await type(page, HEAD + "q: fill b\n");
    same(await page.inputValue("#program"), "", "the list");
    await page.selectOption("#program", "diamond");
    await settle(page);
    must((await state(page)).operations === 20, "the example did not come back");
  });
}

async function pointing(browser) {
  await odd(browser, "hover_ends", "#p=diamond&step=20&op=bottom@1&tab=queues", async (page) => {
    const box = await (await page.$("#panel td button")).boundingBox();
    await page.mouse.move(box.x + 5, box.y + 5);
    await until(page, () => window.tidemark.state.hovered >= 0);
    await page.evaluate(() => document.getElementById("tab-timelines").click());
    await page.waitForTimeout(100);
    await page.mouse.move(1200, 20);
    await until(page, () => window.tidemark.state.hovered < 0);
  });
  await odd(browser, "focus_stays", "#p=diamond&step=12&op=bottom@1", async (page) => {
    await page.focus("#operation .wait button");
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(200);
    must(await page.evaluate(() => Boolean(document.activeElement.closest(".wait"))), "a step takes it away");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(200);
    must(await page.evaluate(() => Boolean(document.activeElement.closest("#operation h3"))), "a choice takes it away");
  });
  await odd(browser, "nothing_pends_behind_a_failure", "#p=diamond&sim.fail=200000&sim.seed=1&step=9999", async (page) => {
    const text = await page.textContent("#panel");
    must(text.includes("fails from"), `nothing failed: ${text}`);
    same(String((await page.$$("#panel .rec.pending")).length), "0", "records that are said to come");
  });
  await odd(browser, "trace_epochs", "#p=hello", async (page) => {
    const trace = (epoch) => JSON.stringify([{ ph: "M", name: "thread_name", tid: 1, args: { name: "left" } }, { ph: "X", tid: 1, ts: 1, dur: 2, name: "z", args: { epoch } }]);
    for (const [epoch, matched] of [["map", 0], ["length", 0], [1, 1]]) {
      await page.evaluate((t) => window.tidemark.showTrace(t), trace(epoch));
      same(String(await page.evaluate(() => window.tidemark.state.trace.matched)), String(matched), `with epoch ${epoch}`);
    }
  });
  // A session's member has a lane, with a mark for all that crossed; what is drawn there is no operation.
  await odd(browser, "trace_members", "#p=hello", async (page) => {
    const member = [{ ph: "M", name: "thread_name", tid: 1001, args: { name: "machine 0 (producer, pid 71)" } }];
    const crossing = (name, ts, args) => ({ ph: "i", s: "t", tid: 1001, cat: "session", name, ts, args });
    const trace = [{ ph: "M", name: "thread_name", tid: 1, args: { name: "left" } }, ...member, { ph: "X", tid: 1, ts: 1, dur: 2, name: "z", args: { epoch: 1 } },
      crossing("loaded: 6 promised", 0, { status: "TIDE_OK", signaller: "queue:1.1", epoch: 6 }), crossing("lost", 4, { status: "TIDE_LOST", failure: "its process has ended" }), crossing("no time", "x")];
    await page.evaluate((t) => window.tidemark.showTrace(t), JSON.stringify(trace));
    const seen = await page.evaluate(() => {
      const { names, bars, operations, end } = window.tidemark.state.trace;
      return JSON.stringify([names.at(-1), operations, end, bars.filter((b) => names[b.queue].startsWith("machine")).map((b) => [b.name, b.start, b.end])]);
    });
    same(seen, JSON.stringify(["machine 0 (producer, pid 71)", 1, 4000, [["loaded: 6 promised\nby queue:1.1 @ 6", 0, 0], ["lost\nits process has ended", 4000, 4000]]]), "the member's lane");
    must(await page.evaluate(() => document.getElementById("toast").textContent.startsWith("1 operation,")), "a mark is counted as an operation");
  });
}

// Small windows, and what letters of twice the size make of a large one.
async function windows(browser) {
  for (const [width, height] of [[1024, 600], [800, 600], [640, 400], [400, 700]])
    await odd(browser, `window_${width}`, "#p=eviction&sim.frontier=3&sim.paused=1&step=20&op=report@2", async (page) => {
      const seen = await page.evaluate(() => {
        const small = ["graph", "lanes", "operation", "panel", "text"].filter((id) => document.getElementById(id).clientHeight < 100 || document.getElementById(id).clientWidth < 160);
        return { small, over: document.documentElement.scrollWidth - document.documentElement.clientWidth };
      });
      must(!seen.small.length, `no room for ${seen.small}`);
      must(seen.over <= 0, "it is wider than the window");
      for (const selector of ["#graph", "#lanes", "#operation", "#panel", "#text", "#play"]) {
        await page.$eval(selector, (e) => e.scrollIntoView({ block: "center" }));
        must(await page.$eval(selector, (e) => {
          const box = e.getBoundingClientRect();
          return e.contains(document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2));
        }), `${selector} cannot be scrolled to`);
      }
    }, { width, height });
}
