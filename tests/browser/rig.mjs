// What the browser's tests share: the tool, a browser, a page that tells of every error.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

export const ROOT = process.env.SOURCE;
export const BUILD = process.env.BUILD;
export const TOOL = process.env.TIDEMARK;
export const WORK = process.env.WORK;
export const PAGE = path.join(WORK, "page.html");
export const URL_OF_PAGE = "file://" + PAGE;

let failed = false;
export function pass(name) {
  console.log(`PASS ${name}`);
}
export function fail(name, why) {
  failed = true;
  console.log(`FAIL ${name}: ${String(why).replace(/\s+/g, " ").slice(0, 600)}`);
}
export const anyFailed = () => failed;

// A case: what it throws is why it failed.
export async function check(name, body) {
  try {
    await body();
    pass(name);
  } catch (problem) {
    fail(name, problem?.message ?? problem);
  }
}

export function must(condition, why) {
  if (!condition) throw new Error(why);
}

export function same(got, expected, what) {
  if (got === expected) return;
  let at = 0;
  while (at < got.length && got[at] === expected[at]) at++;
  throw new Error(`${what} differs at ${at}: "${got.slice(at - 30, at + 60)}" instead of "${expected.slice(at - 30, at + 60)}"`);
}

export function native(...words) {
  const done = spawnSync(TOOL, words, { encoding: "utf8", cwd: WORK, maxBuffer: 1 << 28 });
  return { status: done.status, out: done.stdout, err: done.stderr };
}

export { execFileSync, fs, path, spawn };

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
}

// Opens the page; `problems` collects errors of the console, exceptions, and any request that leaves it.
export async function open(browser, hash = "", { width = 1280, height = 800, dark = false, search = "", url = URL_OF_PAGE } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  page.problems = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && page.problems.push(m.text()));
  page.on("pageerror", (e) => page.problems.push(e.message));
  page.on("request", (r) => {
    const asked = r.url();
    if (!asked.startsWith(url) && !/^(data|blob):/.test(asked)) page.problems.push("it asked for " + asked.slice(0, 100));
  });
  await page.goto(url + search + hash);
  await until(page, () => Boolean(window.tidemark?.painted));
  await settle(page);
  return page;
}

// Until something holds in the page, whose policy allows nobody to make functions of strings there.
export async function until(page, holds) {
  for (let tries = 0; tries < 1200; tries++) {
    if (await page.evaluate(holds)) return;
    await page.waitForTimeout(50);
  }
  throw new Error(`after a minute it is still not so: ${holds}`);
}

// Until what was asked for has been drawn.
export async function settle(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export function unproblematic(page) {
  must(!page.problems.length, page.problems.join("; "));
}
