// The state of the page is the fragment of its address: a reload gives the same picture.

export interface State {
  at: number; path: string; x: number; y: number; fixed: Record<number, number>;
  view: [number, number, number, number] | null; // x0, y0, x1, y1 in elements of the finest level
  map: string; low: number | null; high: number | null; log: boolean; reverse: boolean; part: string;
  mode: "auto" | "image" | "line" | "table" | "rgb" | "labels"; grid: boolean; coast: boolean;
  compare: "off" | "side" | "difference"; theme: "" | "light" | "dark"; tab: string; point: number[] | null; along: number | null; row: number; column: number;
}

export const initial: State = {
  at: 0, path: "", x: -1, y: -1, fixed: {}, view: null, map: "viridis", low: null, high: null, log: false, reverse: false,
  part: "", mode: "auto", grid: false, coast: true, compare: "off", theme: "", tab: "about", point: null, along: null, row: 0, column: 0,
};

export function parse(fragment: string): State {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const state: State = { ...initial, fixed: {} };
  const number = (name: string, fallback: number) => {
    const value = Number(given.get(name) ?? fallback);
    return Number.isFinite(value) ? value : fallback;
  };
  const numbers = (name: string) => {
    const list = (given.get(name) ?? "").split(",").map(Number);
    return given.has(name) && list.every(Number.isFinite) ? list : null;
  };
  state.at = number("at", 0);
  state.path = given.get("path") ?? "";
  state.x = number("x", -1);
  state.y = number("y", -1);
  for (const item of (given.get("i") ?? "").split(",").filter(Boolean)) {
    const [dimension, index] = item.split(":").map(Number);
    if (Number.isInteger(dimension) && Number.isInteger(index)) state.fixed[dimension] = index;
  }
  const view = numbers("view");
  if (view?.length === 4) state.view = view as State["view"];
  state.map = given.get("map") ?? initial.map;
  const limits = numbers("limits");
  if (limits?.length === 2) [state.low, state.high] = limits;
  for (const name of ["log", "reverse", "grid"] as const) state[name] = given.get(name) === "1";
  state.coast = given.get("coast") !== "0";
  state.part = given.get("part") ?? "";
  state.mode = (given.get("mode") ?? "auto") as State["mode"];
  state.compare = (given.get("compare") ?? "off") as State["compare"];
  state.theme = (given.get("theme") ?? "") as State["theme"];
  state.tab = given.get("tab") ?? "about";
  state.point = numbers("point");
  state.along = given.has("along") ? number("along", 0) : null;
  state.row = number("row", 0);
  state.column = number("column", 0);
  return state;
}

export function format(state: State): string {
  const query = new URLSearchParams();
  if (state.at) query.set("at", String(state.at));
  if (state.path) query.set("path", state.path);
  if (state.x >= 0) query.set("x", String(state.x));
  if (state.y >= 0) query.set("y", String(state.y));
  const fixed = Object.entries(state.fixed).map(([dimension, index]) => `${dimension}:${index}`);
  if (fixed.length) query.set("i", fixed.join(","));
  if (state.view) query.set("view", state.view.map((value) => Math.round(value * 100) / 100).join(","));
  if (state.map !== initial.map) query.set("map", state.map);
  if (state.low !== null && state.high !== null) query.set("limits", `${state.low},${state.high}`);
  for (const name of ["log", "reverse", "grid"] as const) if (state[name]) query.set(name, "1");
  if (!state.coast) query.set("coast", "0");
  for (const name of ["part", "theme"] as const) if (state[name]) query.set(name, state[name]);
  if (state.mode !== "auto") query.set("mode", state.mode);
  if (state.compare !== "off") query.set("compare", state.compare);
  if (state.tab !== "about") query.set("tab", state.tab);
  if (state.point) query.set("point", state.point.join(","));
  if (state.along !== null) query.set("along", String(state.along));
  if (state.row) query.set("row", String(state.row));
  if (state.column) query.set("column", String(state.column));
  return query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%2F", "/");
}
