// Measures the page. Job on standard input: { chromium, python, root, locations, seconds }.
// Prints `first`: seconds from the start of `omnizarr view` to the first picture; `processor`: seconds
// of processor time that the server took until then; `rate`: pictures per second of the
// animation, if `seconds` is given.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const job = JSON.parse(readFileSync(0, "utf8")), result = {};
const browser = await chromium.launch({ executablePath: job.chromium, args: ["--no-sandbox", "--enable-unsafe-swiftshader"] });
const warm = await browser.newPage({ viewport: { width: 1280, height: 720 } });
await warm.goto("about:blank");

const began = performance.now();
const server = spawn(job.python, ["-m", "omnizarr", "view", ...job.locations, "--no-browser", "--port", "0"], { cwd: job.root, stdio: ["ignore", "pipe", "inherit"] });
try {
  const address = await new Promise((resolve) => createInterface({ input: server.stdout }).once("line", resolve));
  result.address = (performance.now() - began) / 1000;
  await warm.goto(address, { waitUntil: "commit" });
  await warm.waitForFunction(() => document.documentElement.dataset.ready, null, { polling: "raf", timeout: 60000 });
  result.first = (performance.now() - began) / 1000;
  try { // on Linux: processor time of the server, in hundredths of a second
    const fields = readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1].split(" ");
    result.processor = (Number(fields[11]) + Number(fields[12])) / 100;
  } catch { result.processor = NaN; }
  if (job.seconds) {
    const count = () => warm.evaluate(() => Number(document.querySelector(".frame").dataset.drawn));
    await warm.keyboard.press(" ");
    await warm.waitForTimeout(1000);
    const before = await count(), start = performance.now();
    await warm.waitForTimeout(job.seconds * 1000);
    result.rate = (await count() - before) / ((performance.now() - start) / 1000);
  }
} finally { server.kill(); }
await browser.close();
console.log(JSON.stringify(result));
