// `tidemark view` as a server, and traces of real runs.
import http from "node:http";
import os from "node:os";
import { check, fs, must, native, open, path, ROOT, settle, spawn, TOOL, unproblematic, until, WORK } from "./rig.mjs";

function ask(port, { where = "/", method = "GET", host = "127.0.0.1", name = `127.0.0.1:${port}` } = {}) {
  return new Promise((done) => {
    const request = http.request({ host, port, path: where, method, headers: { Host: name }, timeout: 3000 }, (answer) => {
      let size = 0;
      answer.on("data", (d) => (size += d.length));
      answer.on("end", () => done({ status: answer.statusCode, size }));
    });
    request.on("error", () => done({ status: 0, size: 0 }));
    request.on("timeout", () => request.destroy());
    request.end();
  });
}

export async function served(browser) {
  const file = path.join(WORK, "mine.tide");
  fs.writeFileSync(file, "# mine: </script> & <b>\ndevice c cpu\nqueue q on c\nbuffer b 8\nq: fill b\n");
  const server = spawn(TOOL, ["view", file, "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((done) => server.stdout.once("data", (d) => done(String(d).trim())));
  const [, number, where] = /^http:\/\/127\.0\.0\.1:(\d+)(\/[0-9a-f]{32}\/)$/.exec(address) ?? [];
  const port = Number(number);
  await check("served_page", async () => {
    must(where, address);
    const page = await open(browser, "", { url: address });
    must((await page.inputValue("#text")) === fs.readFileSync(file, "utf8"), "the program is not there");
    unproblematic(page);
    await page.close();
  });
  await check("served_again", async () => {
    fs.appendFileSync(file, "q: fill b, 2\n");
    const page = await open(browser, "", { url: address });
    must((await page.evaluate(() => window.tidemark.model.operations.length)) === 2, "the file was not read again");
    await page.close();
  });
  // tests/cases/page.sh has the requests of those who were not told the address.
  await check("served_links", async () => {
    const page = await open(browser, "#p=eviction&step=2", { url: address, search: "?inline" });
    must((await page.evaluate(() => location.pathname)) === where, "the address has changed");
    unproblematic(page);
    await page.close();
    must((await ask(port, { where: where + "?x/../y/../../etc" })).status === 200, "a question behind the address");
    must((await ask(port, { where: where + "page.html" })).status === 404, "a path below it");
    must((await ask(port, { where, method: "POST" })).status === 405, "POST");
    must((await ask(port, { where, name: "evil.example" })).status === 403, "a strange name");
  });
  await check("served_here_only", async () => {
    for (const list of Object.values(os.networkInterfaces()))
      for (const { address: own, family, internal } of list)
        if (family === "IPv4" && !internal) must((await ask(port, { host: own })).status === 0, `it answers on ${own}`);
  });
  await check("served_ends", async () => {
    const ended = new Promise((done) => server.once("exit", done));
    server.kill("SIGINT");
    must((await ended) === 0, "its exit status");
  });
  await check("served_errors", () => {
    must(native("view", "nothing.tide", "--no-open").status === 1, "a file that is not there");
    must(native("view", "--port", "99999").status === 2, "a port that is none");
    must(native("view", "--export", path.join(file, "x.html")).status === 1, "a folder that is not there");
  });
}

export async function traces(browser) {
  for (const name of ["late_waiter", "diamond", "paging"])
    await check(`trace_${name}`, async () => {
      const words = name === "paging" ? ["--set", "pages=8", "--set", "sweeps=2"] : [];
      const trace = path.join(WORK, name + ".json");
      const done = native("run", path.join(ROOT, "examples", name + ".tide"), "--trace", trace, ...words);
      must(done.status === 0, done.err);
      const page = await open(browser, `#p=${name}&step=0` + (words.length ? "&set.pages=8&set.sweeps=2" : ""));
      await page.setInputFiles("#trace-file", trace);
      await until(page, () => Boolean(window.tidemark.state.trace));
      await settle(page);
      const shown = await page.evaluate(() => ({ matched: window.tidemark.state.trace.matched, all: window.tidemark.model.operations.length, room: document.getElementById("real").clientHeight }));
      must(shown.matched === shown.all && shown.room > 50, JSON.stringify(shown));
      // Chosen, an operation says when it ran, simulated and really; and so it does with other settings.
      const says = () => /in the trace.* to /.test(document.getElementById("operation").textContent);
      await page.evaluate(() => window.tidemark.choose(0));
      await until(page, says);
      const before = await page.evaluate(() => window.tidemark.state.trace.of.get(0).end);
      await page.click("#option-paused");
      await until(page, () => window.tidemark.state.options.paused);
      await until(page, says);
      must((await page.evaluate(() => window.tidemark.state.trace?.of.get(0)?.end)) === before, "the trace went with a setting");
      await page.screenshot({ path: path.join(WORK, `trace-${name}.png`) });
      unproblematic(page);
      await page.close();
    });
  await check("trace_nonsense", async () => {
    const page = await open(browser, "#p=hello");
    for (const text of ["", "{}", "[1,null]", '{"traceEvents":[{"ph":"X"}]}', "<html>"]) await page.evaluate((t) => window.tidemark.showTrace(t), text);
    must(!(await page.evaluate(() => window.tidemark.state.trace)), "it was taken for a trace");
    unproblematic(page);
    await page.close();
  });
}
