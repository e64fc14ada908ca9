// Drives the page in headless Chromium. Reads a job from standard input, prints a report as JSON.
// Job: { chromium, screenshots, urls: {name: address with token}, compare: address, matrix: [addresses] }
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const job = JSON.parse(readFileSync(0, "utf8"));
const report = { checks: {}, errors: [], outside: [], milliseconds: {} };
const browser = await chromium.launch({
  executablePath: job.chromium,
  args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"],
});

async function open(address, size = { width: 1280, height: 720 }) {
  const page = await browser.newPage({ viewport: size });
  page.on("pageerror", (error) => report.errors.push(`${address}: ${error.message}`));
  page.on("console", (message) => { if (message.type() === "error" && !message.text().includes("status of 4")) report.errors.push(`${address}: ${message.text()}`); });
  page.on("request", (request) => { const url = new URL(request.url()); if (!["127.0.0.1", ""].includes(url.hostname) && url.protocol !== "data:") report.outside.push(request.url()); });
  await page.goto(address);
  return page;
}
const drawn = (page, count = 1) => page.waitForFunction((least) => Number(document.querySelector(".frame, .plot, [data-drawn]")?.dataset.drawn ?? 0) >= least, count, { timeout: 30000 });
const count = (page) => page.evaluate(() => Number(document.querySelector(".frame")?.dataset.drawn ?? 0));
const pixels = (page) => page.evaluate(() => { // how many colours the picture has, and a digest
  const canvas = document.querySelector(".stage canvas.values"), copy = document.createElement("canvas");
  [copy.width, copy.height] = [64, 64];
  const context = copy.getContext("2d");
  context.drawImage(canvas, 0, 0, 64, 64);
  const data = context.getImageData(0, 0, 64, 64).data, colours = new Set();
  let digest = 0;
  for (let n = 0; n < data.length; n += 4) { colours.add((data[n] << 16) | (data[n + 1] << 8) | data[n + 2]); digest = (Math.imul(digest, 31) + data[n] + 3 * data[n + 1] + 7 * data[n + 2]) | 0; }
  return { colours: colours.size, digest };
});
async function check(name, run) {
  try { report.checks[name] = (await run()) ?? true; } catch (error) { report.checks[name] = `FAILED: ${error.message.slice(0, 400)}`; }
}
const hash = (page) => page.evaluate(() => location.hash);
const press = async (page, key, wait = 400) => { await page.keyboard.press(key); await page.waitForTimeout(wait); };

const weather = job.urls.weather;
const page = await open(weather);
await check("tree lists nodes with shapes", async () => { await page.waitForSelector("button.node.array"); return (await page.textContent("button[data-path=t2m]")).includes("24 × 181 × 360"); });
await check("click in the tree draws", async () => { await page.click("button[data-path=t2m]"); await drawn(page); await page.waitForTimeout(500); return (await pixels(page)).colours > 50; });
await check("slider changes the picture and the address", async () => {
  const before = await pixels(page), times = await count(page);
  await page.fill("input[type=number]", "5");
  await page.keyboard.press("Enter");
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForFunction((n) => Number(document.querySelector(".frame").dataset.drawn) > n, times);
  return (await pixels(page)).digest !== before.digest && (await hash(page)).includes("i=0:5") && (await page.textContent(".slider .value")).includes("2024-07-02T06");
});
await check("click gives value, coordinates and line", async () => {
  const box = await (await page.$("canvas.above")).boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForSelector(".point .plot canvas", { timeout: 20000 });
  const text = await page.textContent(".point .found");
  return /^\d+\.\d+ at time 2024-07-02T06:00:00, latitude -?\d+°, longitude \d+°$/.test(text) || text;
});
await check("zoom reads less", async () => {
  await press(page, "+", 900); await press(page, "+", 900); await press(page, "+", 900);
  return (await hash(page)).includes("view=") && /read/.test(await page.textContent("footer .read"));
});
await check("permalink", async () => {
  await page.waitForTimeout(500);
  const again = await open(page.url());
  await drawn(again); await again.waitForTimeout(1500); await page.waitForTimeout(500);
  const same = (await pixels(again)).digest === (await pixels(page)).digest;
  await again.close();
  return same || `FAILED: ${page.url()}`;
});
await check("back button", async () => { await press(page, "0"); await page.goBack(); await page.waitForTimeout(300); return (await hash(page)).includes("view="); });
await press(page, "0", 800);
await check("keys", async () => {
  const done = [];
  for (const [key, text] of [["c", "grid=1"], ["m", "map=magma"], ["r", "reverse=1"], ["l", "log=1"], ["o", "coast=0"], ["4", "tab=cost"], ["t", "theme="], ["x", "x=1"]]) { await press(page, key, 250); if (!(await hash(page)).includes(text)) done.push(key); }
  for (const key of ["x", "r", "l", "o"]) await press(page, key, 150);
  await press(page, "?"); if (!(await page.$(".dialog"))) done.push("?");
  await press(page, "Escape"); if (await page.$(".dialog")) done.push("Escape");
  await press(page, "k"); if (!(await page.textContent(".dialog")).includes("omnizarr cat")) done.push("k");
  await press(page, "Escape");
  return done.length ? `FAILED: ${done}` : true;
});
await check("cost is told", async () => /^This view read .* to show .*\.$/.test(await page.textContent(".cost .sentence")));
await check("animation", async () => {
  await press(page, "Escape");
  await page.evaluate(() => document.activeElement.blur());
  const before = await count(page), began = Date.now();
  await page.keyboard.press(" ");
  await page.waitForTimeout(3000);
  const pictures = (await count(page)) - before, seconds = (Date.now() - began) / 1000;
  await press(page, "Escape");
  report.milliseconds["pictures per second, 181 × 360"] = pictures / seconds;
  return pictures > 3;
});
await check("exports", async () => {
  const names = [];
  for (const key of ["p", "v", "b"]) { const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press(key)]); names.push(download.suggestedFilename()); }
  return names.join() === "t2m.png,t2m.csv,t2m.npy" || names.join();
});
await check("complex part", async () => { await page.click("button[data-path=wave]"); await drawn(page); await page.selectOption("select[aria-label=part]", "phase"); await page.waitForTimeout(600); return (await hash(page)).includes("part=phase"); });
await check("line plot", async () => { await page.click("button[data-path=global_mean]"); await page.waitForSelector(".plot canvas"); return true; });
await check("table of text", async () => { await page.click("button[data-path=stations]"); await page.waitForSelector(".cells td"); return (await page.textContent(".cells tbody")).includes("東京"); });
await check("scalar", async () => { await page.click("button[data-path=version]"); await page.waitForFunction(() => document.querySelector(".cells td")?.textContent === "7"); return true; });
await page.close();

await check("canvas without WebGL", async () => {
  const plain = await open(weather.replace("?", "?no-webgl=1&") + "#path=t2m");
  await drawn(plain); await plain.waitForTimeout(500);
  const kind = await plain.evaluate(() => document.querySelector(".frame").dataset.painter), seen = await pixels(plain);
  await plain.close();
  return kind === "canvas" && seen.colours > 50;
});
await check("hostile names", async () => {
  const hostile = await open(job.urls.hostile);
  await hostile.waitForSelector("button.node.array");
  for (const button of await hostile.$$("button.node.array")) { await button.click(); await drawn(hostile); await hostile.waitForTimeout(150); }
  for (const key of ["2", "3"]) await press(hostile, key);
  const attacked = await hostile.evaluate(() => window.attacked), broken = await hostile.textContent(".node.unreadable + .problem");
  await hostile.close();
  return attacked === undefined && broken.includes("shape");
});
await check("comparison", async () => {
  const two = await open(job.compare);
  await two.waitForSelector("button[data-path=t2m]"); await two.click("button[data-path=t2m]"); await drawn(two);
  await press(two, "d", 1500);
  const frames = (await two.$$(".frame")).length;
  await press(two, "d", 1500);
  const caption = await two.textContent(".caption"), seen = await pixels(two);
  if (job.screenshots) await two.screenshot({ path: `${job.screenshots}/comparison.png` });
  await two.close();
  return (frames === 2 && caption === "first − second" && seen.colours > 1) || `FAILED: ${frames} ${caption} ${seen.colours}`;
});
await check("a token is needed", async () => { const bare = await open(new URL(weather).origin); const text = await bare.textContent(".start"); await bare.close(); return text.includes("token"); });

for (const [name, fragment] of Object.entries({ weather: "#path=t2m&i=0:3&point=3,60,200&along=0", microscopy: "#path=0&map=magma", photo: "", genomics: "#path=variants", satellite: "#grid=1&tab=cost&map=turbo", old: "#map=greys&theme=dark" })) {
  await check(`screenshot ${name}`, async () => {
    const shot = await open(job.urls[name] + fragment);
    await drawn(shot); await shot.waitForTimeout(1200);
    report.milliseconds[`first picture of ${name}`] = Number(await shot.evaluate(() => document.documentElement.dataset.ready ?? 0));
    await shot.evaluate(() => document.querySelectorAll(".about dd").forEach((each) => { each.textContent = each.textContent.replace(/^\/.*\/(?=[^/]+\.zarr$)/, "/data/"); }));
    if (job.screenshots) await shot.screenshot({ path: `${job.screenshots}/${name}.png` });
    await shot.close();
  });
}
if (job.matrix) await check("every data type opens", async () => {
  const wide = await open(job.matrix, { width: 1920, height: 1080 });
  await wide.waitForSelector("button.node.array");
  const names = await wide.$$eval("button.node.array", (nodes) => nodes.map((node) => node.dataset.path)), blank = [];
  for (const name of names) {
    await wide.click(`button.node.array[data-path="${name}"]`);
    try { await wide.waitForFunction((path) => { const shown = document.querySelector(".frame, .plot, [data-drawn], .problem.large, .ask .problem"); return decodeURIComponent(location.hash).includes(path) && shown && (shown.className.includes("problem") || Number(shown.dataset.drawn ?? 0) > 0); }, name, { timeout: 15000 }); } catch { blank.push(name); }
  }
  await wide.close();
  report.matrix = names.length;
  return blank.length ? `FAILED: ${blank}` : names.length > 10;
});
await browser.close();
console.log(JSON.stringify(report));
