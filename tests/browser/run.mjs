// The page in a real browser. Prints PASS and FAIL lines; pictures are left in $WORK.
import { accessibility, deepLinks, editorErrors, keyboard } from "./ways.mjs";
import { hostile } from "./hostile.mjs";
import { figures } from "./figures.mjs";
import { scenarios } from "./scenarios.mjs";
import { served, traces } from "./served.mjs";
import { anyFailed, check, fs, launch, must, native, PAGE } from "./rig.mjs";

await check("export", () => {
  const done = native("view", "--export", PAGE);
  must(done.status === 0, done.err);
  must(fs.statSync(PAGE).size < 2 << 20, "the page is larger than 2 MiB");
});

const browser = await launch();
try {
  for (const part of [scenarios, editorErrors, deepLinks, keyboard, accessibility, traces, served, hostile, figures]) await part(browser);
} finally {
  await browser.close();
}
process.exit(anyFailed() ? 1 : 0);
