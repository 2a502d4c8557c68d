// What ./bench view reads: `run`: milliseconds of 100 000 operations in the page; `draw`: milliseconds until
// the first picture, then frames a second of 10 000 operations when scrubbing, panning, and with all lanes in sight.
import { measureFrames, measurePaint, measureRun } from "./figures.mjs";
import { launch, must, native, PAGE } from "./rig.mjs";

const done = native("view", "--export", PAGE);
must(done.status === 0, done.err);
const browser = await launch();
try {
  if (process.argv[2] === "run") console.log((await measureRun(browser))[0]);
  else {
    const painted = await measurePaint(browser);
    const { scrub, pan, lanes } = await measureFrames(browser);
    console.log(painted, scrub, pan, lanes);
  }
} finally {
  await browser.close();
}
