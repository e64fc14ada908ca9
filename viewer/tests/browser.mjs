// Drives the page in headless Chromium. Reads a job from standard input, prints a report as JSON: the result of each
// check, errors of JavaScript, and requests to other hosts. Nothing waits for a fixed time: `until` asks again.
// Job: { kind, chromium, screenshots, urls: {name: address with token} }; `kind` is a function below.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const job = JSON.parse(readFileSync(0, "utf8"));
const report = { checks: {}, errors: [], outside: [], figures: {} };
const browser = await chromium.launch({
  executablePath: job.chromium,
  args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-ipc-flooding-protection", "--enable-unsafe-swiftshader"],
});

async function open(address, size = { width: 1280, height: 720 }) {
  const page = await browser.newPage({ viewport: size });
  page.setDefaultTimeout(30000);
  page.on("pageerror", (error) => report.errors.push(`${page.url()}: ${error.stack}`));
  page.on("console", (message) => { if (message.type() === "error" && !message.text().includes("status of 4")) report.errors.push(`${page.url()}: ${message.text()}`); });
  page.on("request", (request) => { const url = new URL(request.url()); if (!["127.0.0.1", ""].includes(url.hostname) && url.protocol !== "data:") report.outside.push(request.url()); });
  await page.goto(address);
  return page;
}

let failures = 0;
async function check(name, run) {
  if (failures > 2) return; // each failure may wait for long, and the first ones tell enough
  try { const result = await run(); report.checks[name] = result === undefined || result === true ? true : `FAILED: ${JSON.stringify(result)}`; } catch (error) { report.checks[name] = `FAILED: ${error.message.slice(0, 600)}`; }
  if (report.checks[name] !== true) failures++;
  console.error(`${name}: ${report.checks[name]}`);
}

// Asks until the answer is true; after 30 s the last answer is the error.
async function until(ask) {
  let answer;
  for (const end = Date.now() + 30000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50))) {
    answer = await ask();
    if (answer === true) return;
  }
  throw new Error(`the page did not reach this state: ${JSON.stringify(answer)}`);
}

const hash = (page) => page.evaluate(() => location.hash);
const hashHas = (page, text) => until(async () => { const now = await hash(page); return now.includes(text) || now; });
const text = (page, selector) => page.evaluate((given) => document.querySelector(given)?.textContent ?? "", selector);
const textHas = (page, selector, pattern) => until(async () => { const now = await text(page, selector); return pattern.test(now) || now; });
const count = (page) => page.evaluate(() => Number(document.querySelector(".frame")?.dataset.drawn ?? 0));
const drawn = (page, least = 1) => page.waitForFunction((n) => [...document.querySelectorAll(".frame, .plot, [data-drawn]")].some((each) => Number(each.dataset.drawn ?? 0) >= n), least);
const choose = async (page, path) => { await page.click(`button.node[data-path="${path}"]`); await page.waitForFunction((place) => document.querySelector(".content").dataset.place === place, `0/${path}`); };
const pixels = (page) => page.evaluate(() => { // how many colours the picture has, and a digest
  const canvas = document.querySelector(".stage canvas.values");
  if (!canvas) return { colours: 0, digest: 0 };
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [64, 64];
  const context = copy.getContext("2d");
  context.drawImage(canvas, 0, 0, 64, 64);
  const data = context.getImageData(0, 0, 64, 64).data, colours = new Set();
  let digest = 0;
  for (let n = 0; n < data.length; n += 4) { colours.add((data[n] << 16) | (data[n + 1] << 8) | data[n + 2]); digest = (Math.imul(digest, 31) + data[n] + 3 * data[n + 1] + 7 * data[n + 2]) | 0; }
  return { colours: colours.size, digest };
});
const colourful = (page, least) => until(async () => { const { colours } = await pixels(page); return colours > least || colours; });
const press = (page, ...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
const blur = (page) => page.evaluate(() => document.activeElement?.blur());
const focused = (page) => page.evaluate(() => `${document.activeElement?.className} ${document.activeElement?.getAttribute("aria-label") ?? ""}`);

async function mouse(page) {
  await check("tree lists nodes with shapes", async () => { await page.waitForSelector("button.node.array"); await textHas(page, "button[data-path=t2m]", /24 × 181 × 360/); });
  await check("a group lists its members", () => textHas(page, ".overview table", /t2m.*time 24 × latitude 181 × longitude 360/s));
  await check("click in the tree draws", async () => { await choose(page, "t2m"); await drawn(page); await colourful(page, 50); });
  await check("slider changes the picture and the address", async () => {
    const before = await pixels(page);
    await page.fill("input[type=number]", "5");
    await press(page, "Enter");
    await blur(page);
    await until(async () => (await pixels(page)).digest !== before.digest);
    await hashHas(page, "i=0:5");
    await textHas(page, ".slider .value", /2024-07-02T06/);
  });
  await check("click gives value, coordinates and line", async () => {
    const box = await (await page.$("canvas.above")).boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForSelector(".point .plot canvas");
    await textHas(page, ".point .found", /^-?\d+(\.\d+)? at time 2024-07-02T06:00:00, latitude -?\d+°, longitude \d+°$/);
  });
  await check("the histogram is dragged", async () => {
    const box = await (await page.$(".histogram")).boundingBox();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 10, { steps: 4 });
    await page.mouse.up();
    await hashHas(page, "limits=");
    await page.dblclick(".histogram");
    await until(async () => !(await hash(page)).includes("limits="));
  });
  await check("wheel zooms, drag moves", async () => {
    const box = await (await page.$("canvas.above")).boundingBox(), [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, -100);
    await hashHas(page, "view=");
    await page.mouse.wheel(0, -100);
    await page.waitForFunction(() => document.querySelector(".frame").dataset.drawn > 1);
    const before = await hash(page);
    await page.mouse.down();
    await page.mouse.move(x + 60, y + 20, { steps: 4 });
    await page.mouse.up();
    await until(async () => (await hash(page)) !== before);
    await textHas(page, "footer .read", /this view read/);
  });
  await check("permalink", async () => {
    const again = await open(page.url());
    await drawn(again);
    await until(async () => { // the address follows a drag a moment later
      if (again.url() !== page.url()) await again.goto(page.url());
      return (await pixels(again)).digest === (await pixels(page)).digest;
    });
    await again.close();
  });
  await check("back button", async () => { await press(page, "0"); await until(async () => !(await hash(page)).includes("view=")); await page.goBack(); await hashHas(page, "view="); await press(page, "0"); });
}

async function keyboard(page) {
  await blur(page);
  for (const [key, expected] of [["c", "grid=1"], ["m", "map=magma"], ["r", "reverse=1"], ["l", "log=1"], ["o", "coast=0"], ["2", "tab=attributes"], ["3", "tab=document"], ["4", "tab=cost"], ["t", "theme="], ["x", "x=1"], ["g", "mode=image"], ["]", "i=0:6"], ["[", "i=0:5"], ["+", "view="]]) {
    await check(`key ${key}`, async () => { await press(page, key); await hashHas(page, expected); });
  }
  await press(page, "0", "x", "r", "l", "o", "m");
  await check("help and copy", async () => {
    await press(page, "?"); await page.waitForSelector(".dialog"); await press(page, "Escape"); await page.waitForSelector(".dialog", { state: "detached" });
    await press(page, "k"); await textHas(page, ".dialog", /omnizarr cat/); await press(page, "Escape"); await page.waitForSelector(".dialog", { state: "detached" });
  });
  await check("cost is told", () => textHas(page, ".cost .sentence", /^This view read .* to show .*\.$/));
  await check("the chosen element moves", async () => {
    await press(page, "Backspace"); await page.waitForSelector(".point", { state: "detached" });
    await press(page, "Enter"); await hashHas(page, "point=5,90,180");
    await press(page, "Shift+ArrowRight", "Shift+ArrowUp"); await hashHas(page, "point=5,89,181");
    await press(page, "y"); await hashHas(page, "along=1");
    await page.waitForSelector(".point .plot canvas");
    await press(page, "Backspace");
  });
  await check("limits by keys", async () => {
    await press(page, "f", "ArrowRight"); await hashHas(page, "limits=");
    const before = await hash(page);
    await press(page, "Tab", "PageDown"); await until(async () => (await hash(page)) !== before);
    await press(page, "Home"); await until(async () => !(await hash(page)).includes("limits="));
    await press(page, "Escape");
  });
  await check("sliders by keys", async () => { await press(page, "s", "ArrowRight"); await hashHas(page, "i=0:6"); await press(page, "Escape"); });
  await check("statistics by a key", async () => { await press(page, "w"); await textHas(page, ".about", /whole slice.*count65160/s); });
  await check("the tree by keys", async () => {
    await press(page, "e", "ArrowUp"); await until(async () => /node/.test(await focused(page)));
    await press(page, "Enter"); await hashHas(page, "path=stations");
    await press(page, "ArrowDown", "Enter"); await hashHas(page, "path=t2m");
    await press(page, "Escape"); await drawn(page);
  });
  await check("animation", async () => {
    await blur(page);
    const before = await count(page);
    await press(page, " ");
    await until(async () => (await count(page)) > before + 3);
    await press(page, "Escape");
  });
  await check("exports", async () => {
    const names = [];
    for (const key of ["p", "v", "b"]) { const [download] = await Promise.all([page.waitForEvent("download"), press(page, key)]); names.push(download.suggestedFilename()); }
    return names.join() === "t2m.png,t2m.csv,t2m.npy" || names;
  });
}

async function kinds(page) {
  await check("complex part", async () => { await choose(page, "wave"); await drawn(page); await page.selectOption("select[aria-label=part]", "phase"); await hashHas(page, "part=phase"); await blur(page); await press(page, "i"); await hashHas(page, "part=real"); });
  await check("line plot", async () => { await choose(page, "global_mean"); await page.waitForSelector(".plot canvas"); await blur(page); await press(page, "ArrowLeft", "+", "Enter"); await textHas(page, ".point .found", / at time /); });
  await check("table of text", async () => { await choose(page, "stations"); await textHas(page, ".cells tbody", /東京/); });
  await check("scalar", async () => { await choose(page, "version"); await until(async () => (await text(page, ".cells td")) === "7"); });
}

async function tables(page) {
  await check("tables by keys", async () => {
    await choose(page, "variants"); await textHas(page, ".cells thead", /chromosome.*position.*quality/);
    await blur(page);
    const begins = (row, column = "0") => page.waitForFunction((expected) => { const { first, left } = document.querySelector(".content .table").dataset; return `${first},${left}` === expected; }, `${row},${column}`);
    await press(page, "PageDown"); await begins(100);
    await press(page, "ArrowDown"); await begins(101);
    await press(page, "End"); await begins(400);
    await press(page, "Home"); await begins(0);
    await choose(page, "calls"); await blur(page); await press(page, "g", "g", "g"); await hashHas(page, "mode=table");
    await page.waitForSelector(".content .table"); await press(page, "ArrowRight", "PageDown"); await begins(100, "1");
    await textHas(page, ".rows", /1 to 20 of 200/);
  });
}

const DOCUMENTED = { weather: "#path=t2m&i=0:6&map=turbo&point=6,60,270&along=0", microscopy: "#path=0&map=magma", histology: "", genomics: "#path=variants", elevation: "#grid=1&tab=cost&map=cividis", seismic: "#map=red–blue&theme=dark&reverse=1" };

const KINDS = {
  async page() {
    const { weather } = job.urls, page = await open(weather);
    await mouse(page);
    await keyboard(page);
    await kinds(page);
    await page.close();
    const genomics = await open(job.urls.genomics);
    await genomics.waitForSelector("button.node.array");
    await tables(genomics);
    await genomics.close();
    await check("canvas without WebGL", async () => {
      const plain = await open(`${weather.replace("?", "?no-webgl=1&")}#path=t2m`), other = await open(`${weather}#path=t2m`);
      await drawn(plain); await colourful(plain, 50); await drawn(other); await colourful(other, 50);
      const kind = await plain.evaluate(() => document.querySelector(".frame").dataset.painter), second = await other.evaluate(() => document.querySelector(".frame").dataset.painter);
      await plain.close(); await other.close();
      return (kind === "canvas" && second === "webgl") || [kind, second];
    });
    await check("comparison", async () => {
      const two = await open(`${job.urls.compare}#path=t2m`);
      await drawn(two);
      await press(two, "d");
      await until(async () => (await two.$$(".frame")).length === 2);
      await press(two, "d");
      await until(async () => (await text(two, ".caption")) === "first − second");
      await until(async () => (await pixels(two)).colours > 1);
      await two.close();
    });
    await check("hostile names", async () => {
      const hostile = await open(job.urls.hostile);
      await hostile.waitForSelector("button.node.array");
      const names = await hostile.$$eval("button.node.array", (nodes) => nodes.map((node) => node.dataset.path));
      for (const [n, button] of (await hostile.$$("button.node.array")).entries()) {
        await button.click();
        await hostile.waitForFunction((place) => document.querySelector(".content").dataset.place === place, `0/${names[n]}`);
        await drawn(hostile);
        await press(hostile, "2", "3", "k"); await hostile.waitForSelector(".dialog"); await press(hostile, "Escape", "1");
      }
      await hostile.click("button.root"); await textHas(hostile, ".overview", /broken.*shape/s);
      const attacked = await hostile.evaluate(() => window.attacked), broken = await text(hostile, ".node.unreadable + .problem");
      await hostile.close();
      return (attacked === undefined && broken.includes("shape")) || [attacked, broken];
    });
    await check("a token is needed", async () => { const bare = await open(new URL(weather).origin); await textHas(bare, ".start", /token/); await bare.close(); });
    for (const [name, fragment] of Object.entries(DOCUMENTED)) await check(`picture of ${name}`, async () => {
      const shot = await open(job.urls[name] + fragment);
      await drawn(shot);
      if (job.screenshots) {
        await shot.waitForLoadState("networkidle");
        await shot.evaluate(() => document.querySelectorAll(".about dd").forEach((each) => { each.textContent = each.textContent.replace(/^\/.*\/(?=[^/]+\.zarr$)/, "/data/"); }));
        await shot.waitForTimeout(500);
        await shot.screenshot({ path: `${job.screenshots}/${name}.png` });
      }
      await shot.close();
    });
  },

  async large() { // the server asks from few bytes on
    await check("a large view begins with a part and asks", async () => {
      const page = await open(job.urls.elevation);
      await page.waitForSelector(".ask .confirm");
      await textHas(page, ".ask", /would read .* in \d+ chunks/);
      await drawn(page);
      await hashHas(page, "view=");
      await page.click(".ask .confirm");
      await until(async () => !(await hash(page)).includes("view="));
      await page.waitForSelector(".ask", { state: "detached" });
      await textHas(page, "footer .read", /this view read \d/);
      await page.close();
    });
  },

  async every() { // all arrays of a server with many locations
    const page = await open(`${job.urls.every.replace("?", "?no-webgl=1&")}`, { width: 900, height: 500 });
    await page.waitForSelector("button.root");
    const result = await page.evaluate(async (total) => {
      const counts = {}, blank = [];
      for (let n = 0; n < total; n++) {
        const begin = performance.now(), end = begin + 30000;
        let tries = 0;
        let kind = "";
        while (!kind && performance.now() < end) {
          if (performance.now() >= begin + 3000 * tries) { if (tries++) location.hash = "at=0"; location.hash = `at=${n}`; } // a browser ignores changes that are too many
          await new Promise((resolve) => setTimeout(resolve, 4));
          const content = document.querySelector(".content");
          if (content.dataset.place !== `${n}/`) continue;
          const shown = content.querySelector(".problem.large, .ask, .table, .frame, .plot, .overview");
          if (shown && (Number(shown.dataset.drawn ?? 0) > 0 || /problem|ask|table|overview/.test(shown.className))) kind = shown.className.split(" ")[0];
        }
        if (kind) counts[kind] = (counts[kind] ?? 0) + 1;
        else blank.push(`${n}: ${document.querySelector(".content").outerHTML.slice(0, 600)}`);
      }
      return { counts, blank };
    }, job.count);
    report.figures = result.counts;
    report.checks["all are drawn, tabulated or the reason is shown"] = result.blank.length ? `FAILED: ${result.blank}` : true;
    await page.close();
  },
};

await KINDS[job.kind]();
await browser.close();
console.log(JSON.stringify(report));
