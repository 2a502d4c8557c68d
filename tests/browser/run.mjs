// The page in a real browser. Prints PASS and FAIL lines; pictures are left in $WORK.
import { accessibility, deepLinks, editorErrors, keyboard } from "./ways.mjs";
import { hostile } from "./hostile.mjs";
import { oddWays } from "./odd.mjs";
import { figures } from "./figures.mjs";
import { answers, scenarios } from "./scenarios.mjs";
import { served, traces } from "./served.mjs";
import { anyFailed, check, fs, launch, must, native, PAGE } from "./rig.mjs";

await check("export", () => {
  const done = native("view", "--export", PAGE);
  must(done.status === 0, done.err);
  must(fs.statSync(PAGE).size < 2 << 20, "the page is larger than 2 MiB");
});

const browser = await launch();
try {
  // PARTS=hostile,served runs these only.
  const parts = { scenarios, answers, editorErrors, deepLinks, keyboard, oddWays, accessibility, traces, served, hostile, figures };
  for (const name of process.env.PARTS?.split(",") ?? Object.keys(parts)) await parts[name](browser);
} finally {
  await browser.close();
}
process.exit(anyFailed() ? 1 : 0);
