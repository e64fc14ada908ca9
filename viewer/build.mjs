// Builds the page into src/omnizarr/serve/static: one script, one style sheet, the page and its icon.
import { readFileSync, writeFileSync, mkdirSync, copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { mesh } from "topojson-client";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? `${here}../src/omnizarr/serve/static`;
mkdirSync(target, { recursive: true });

// Coast lines: longitude and latitude in tenths of a degree, as differences, which compress well.
function coastLines() {
  const atlas = JSON.parse(readFileSync(`${here}node_modules/world-atlas/land-110m.json`, "utf8"));
  const lines = mesh(atlas, atlas.objects.land).coordinates;
  return lines.map((line) => {
    const numbers = [];
    let lon = 0, lat = 0;
    for (const [x, y] of line) {
      const nextLon = Math.round(x * 10), nextLat = Math.round(y * 10);
      if (numbers.length && nextLon === lon && nextLat === lat) continue;
      numbers.push(nextLon - lon, nextLat - lat);
      [lon, lat] = [nextLon, nextLat];
    }
    return numbers.join(",");
  }).join(";");
}

await build({
  entryPoints: [`${here}src/main.tsx`],
  outfile: `${target}/viewer.js`,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  define: { COAST_LINES: JSON.stringify(coastLines()) },
});
for (const name of ["index.html", "icon.svg"]) copyFileSync(`${here}src/${name}`, `${target}/${name}`);
const uplot = readFileSync(`${here}node_modules/uplot/dist/uPlot.min.css`, "utf8");
writeFileSync(`${target}/viewer.css`, `${uplot}\n${readFileSync(`${here}src/viewer.css`, "utf8")}`);
