// Numbers, sizes and selections as text.
import type { Coordinates, NodeView } from "./api";
import type { State } from "./state";

export function bytes(size: number): string {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let power = 0;
  while (size >= 1000 && power < units.length - 1) { size /= 1000; power++; }
  return `${power && size < 10 ? size.toFixed(1) : Math.round(size)} ${units[power]}`;
}

export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return value === undefined || value === null ? "–" : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const text = value.toPrecision(6);
  return text.includes("e") ? text : String(parseFloat(text));
}

export function coordinate(given: Coordinates | undefined, index: number): string | null {
  if (!given) return null;
  const place = Math.floor(index / given.step);
  if (given.texts) return given.texts[place]?.replace(/T00:00:00(\.0+)?$/, "") ?? null;
  if (given.values) {
    const value = given.values[place];
    if (value === undefined) return null;
    const unit = given.kind === "longitude" || given.kind === "latitude" ? "°" : given.units ? ` ${given.units}` : "";
    return `${number(value)}${unit}`;
  }
  return null;
}

export const dimensionName = (node: NodeView, dimension: number): string => node.dimensions[dimension]?.name || `dimension ${dimension}`;

// The two dimensions of a picture: those of the state, or the last two that are no colour channels.
export function axes(node: NodeView, state: State): [number, number] {
  const rank = node.dimensions.length;
  const channel = channelDimension(node);
  const free = [...Array(rank).keys()].filter((n) => n !== channel || rank < 3);
  const named = (pattern: RegExp) => free.find((n) => pattern.test(node.dimensions[n].name ?? ""));
  let x = state.x, y = state.y;
  if (x < 0 || x >= rank) x = named(/^(x|lon|longitude|nx|col)$/i) ?? free[free.length - 1];
  if (y < 0 || y >= rank || y === x) y = named(/^(y|lat|latitude|ny|row)$/i) ?? free.filter((n) => n !== x).at(-1)!;
  if (y === x) y = free.filter((n) => n !== x).at(-1) ?? 0;
  return [x, y];
}

// The dimension of red, green, blue and perhaps alpha, if there is one.
export function channelDimension(node: NodeView): number | null {
  const rank = node.dimensions.length;
  if (rank < 3) return null;
  const named = node.dimensions.findIndex((each) => /^(c|channel|channels|rgb|rgba|band|bands)$/i.test(each.name ?? ""));
  const place = named >= 0 ? named : rank - 1;
  const length = node.dimensions[place].length;
  if (length !== 3 && length !== 4) return null;
  return named >= 0 || node.info.type === "uint8" ? place : null;
}

export function selectionText(node: NodeView, state: State, ranges: Record<number, string>): string {
  return node.dimensions.map((each, n) => ranges[n] ?? String(Math.min(state.fixed[n] ?? 0, Math.max(0, each.length - 1)))).join(", ");
}
