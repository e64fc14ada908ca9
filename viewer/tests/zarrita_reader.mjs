// Reads arrays over HTTP with zarrita.js. Job on standard input: [{url, path, format}]; prints the values as JSON.
import { readFileSync } from "node:fs";
import * as zarr from "zarrita";

const results = [];
for (const job of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const root = zarr.root(new zarr.FetchStore(job.url));
    const open = job.format === 3 ? zarr.open.v3 : zarr.open.v2;
    const array = await open(job.path ? root.resolve(job.path) : root, { kind: "array" });
    const { data, shape } = await zarr.get(array);
    results.push({ shape, values: Array.from(data, (value) => (typeof value === "bigint" ? Number(value) : value)) });
  } catch (error) {
    results.push({ error: String(error) });
  }
}
console.log(JSON.stringify(results));
