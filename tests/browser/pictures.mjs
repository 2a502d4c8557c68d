// What docs/make-pictures runs: pictures of a few programs at a caption, as SVG.
import { fs, launch, open, path } from "./rig.mjs";

const PICTURES = [
  ["late_waiter", "#p=late_waiter&sim.step=1200000", 3],
  ["diamond", "#p=diamond&set.rounds=1", 2],
  ["eviction", "#p=eviction&sim.frontier=3&sim.paused=1", 3, 760],
  ["reuse", "#p=reuse&set.pictures=4&sim.paused=1", 3],
];

const browser = await launch();
for (const [name, hash, caption, height = 620] of PICTURES) {
  const page = await open(browser, hash, { search: "?inline", width: 900, height });
  await page.evaluate((n) => {
    window.tidemark.toCaption(n);
    window.tidemark.paint();
  }, caption);
  fs.writeFileSync(path.join(process.argv[2], name + ".svg"), await page.evaluate(() => window.tidemark.picture()));
  await page.close();
}
await browser.close();
