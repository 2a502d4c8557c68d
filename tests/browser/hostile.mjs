// Hostile text: it is refused in words or simulated, and the page goes on.
import { check, fs, must, native, open, path, ROOT, settle, unproblematic, until, WORK } from "./rig.mjs";

function monsters() {
  const head = "device c cpu\nqueue q on c\ntimeline t\nbuffer b 8\n";
  return {
    empty: "",
    zeros: "\0\0\0\0",
    bytes: Array.from({ length: 5000 }, (_, i) => String.fromCharCode((i * 7919) % 512)).join(""),
    long_line: "#" + "x".repeat(1 << 20),
    many_operations: head + "for i in 0..100000000 {\n  q: fill b\n}\n",
    many_turns: head + "for i in 0..1000000 {\n for j in 0..1000000 {\n  for k in 0..1000000 {\n if 0 {\n q: fill b\n}\n}\n}\n}\n",
    many_queues: "device c cpu\nqueue q[100000] on c\nbuffer b 8\nq[0]: fill b\n",
    many_buffers: head.replace("buffer b 8", "buffer b[1000000] 8") + "q: fill b[0]\n",
    huge_buffer: head.replace("b 8", "b 9223372036854775807") + "q: fill b\n",
    huge_value: head + "q: fill b  signal t = 9223372036854775807\n",
    huge_cost: head + "for i in 0..100 {\n q: fill b  cost 999999999s\n}\n",
    deep: head + "if 1 {\n".repeat(200) + "q: fill b\n" + "}\n".repeat(200),
    parentheses: head + "let x = " + "(".repeat(5000) + "1" + ")".repeat(5000) + "\n",
    script: head + 'q: fill b  label "</script><img src=x onerror=alert(1)>"\n',
    outside: head + "host: signal external t = 1\nq: fill b  wait t >= 1\n",
    host_wait: head + "host: wait t >= 1\n",
    fails: "device c cpu\nqueue q, r on c\ntimeline t\nq: fail  signal t = 1\nr: nop  wait t >= 1\n",
  };
}

export async function hostile(browser) {
  const page = await open(browser, "#p=hello");
  const folder = path.join(ROOT, "tests/fuzz/corpus/program");
  const texts = Object.entries(monsters());
  for (const name of fs.readdirSync(folder)) texts.push(["corpus_" + name.replace(/\W/g, "_"), fs.readFileSync(path.join(folder, name), "utf8")]);
  for (const [name, text] of texts)
    await check(`hostile_${name}`, async () => {
      await page.evaluate((t) => {
        const area = document.getElementById("text");
        area.value = t;
        window.tidemark.ready = false;
        area.dispatchEvent(new Event("input"));
      }, text);
      await until(page, () => window.tidemark.ready);
      await settle(page);
      unproblematic(page);
      await agrees(page, text);
    });
  await check("hostile_after", async () => {
    await page.fill("#text", "device c cpu\nqueue q on c\nbuffer b 8\nq: fill b\n");
    await until(page, () => window.tidemark.model?.operations.length === 1 && !window.tidemark.errors.length);
    unproblematic(page);
  });
  await page.close();
}

// Errors have the native tool's words, but where the page has limits of its own.
async function agrees(page, text) {
  const errors = await page.evaluate(() => window.tidemark.errors.filter((e) => e.line).map((e) => `${e.line}:${e.column}: ${e.text}`));
  if (!errors.length) return;
  // Beyond the page's own limits the tool would go on, and need all memory that there is.
  if (errors[0].includes("operations") || errors[0].includes("turn more than")) return;
  const file = path.join(WORK, "hostile.tide");
  fs.writeFileSync(file, text);
  const said = native("sim", file, "--baseline", "none").err;
  must(said.includes(errors[0]), `the page says "${errors[0]}", the tool "${said.slice(0, 300)}"`);
}
