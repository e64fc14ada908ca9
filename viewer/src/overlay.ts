// What is drawn above a picture: chunk and shard grid, absent chunks, coast lines, and the chosen point.
import type { Coordinates } from "./api";
import type { State } from "./state";

declare const COAST_LINES: string;

export interface Grid { edges: number[][]; shard_edges: number[][] | null; absent: number[][]; checked: boolean }
interface Overlay {
  view: [number, number, number, number]; width: number; height: number; grid: Grid | null; swap: boolean; state: State;
  coordinates: (Coordinates | undefined)[]; point: [number, number] | null; dark: boolean;
}

let lines: [number, number][][] | null = null;
function coastLines(): [number, number][][] {
  lines ??= COAST_LINES.split(";").map((line) => {
    const numbers = line.split(",").map(Number), points: [number, number][] = [];
    let lon = 0, lat = 0;
    for (let n = 0; n < numbers.length; n += 2) { lon += numbers[n]; lat += numbers[n + 1]; points.push([lon / 10, lat / 10]); }
    return points;
  });
  return lines;
}

// The index of a value among coordinates that rise or fall evenly; null if it is outside.
function indexOf(coordinates: Coordinates, value: number): number | null {
  const list = coordinates.values!, last = list.length - 1;
  if (last < 1) return null;
  const place = ((value - list[0]) / (list[last] - list[0])) * last;
  return place >= -1 && place <= last + 1 ? (place + 0.5) * coordinates.step : null;
}

export function drawOverlay(canvas: HTMLCanvasElement, overlay: Overlay): void {
  const context = canvas.getContext("2d")!, { view, width, height } = overlay;
  context.clearRect(0, 0, width, height);
  const sx = (x: number) => ((x - view[0]) / (view[2] - view[0])) * width, sy = (y: number) => ((y - view[1]) / (view[3] - view[1])) * height;
  const [lon, lat] = overlay.coordinates;
  if (overlay.state.coast && lon?.kind === "longitude" && lat?.kind === "latitude" && lon.values && lat.values) drawCoast(context, lon, lat, sx, sy, width);
  if (overlay.grid) drawGrid(context, overlay.grid, overlay.swap, sx, sy, width, height);
  if (overlay.point) {
    const [x, y] = [sx(overlay.point[0] + 0.5), sy(overlay.point[1] + 0.5)];
    context.strokeStyle = "#fff";
    context.lineWidth = 3;
    const cross = () => { context.beginPath(); context.moveTo(x - 9, y); context.lineTo(x + 9, y); context.moveTo(x, y - 9); context.lineTo(x, y + 9); context.stroke(); };
    cross();
    context.strokeStyle = "#d00";
    context.lineWidth = 1.5;
    cross();
  }
}

function drawCoast(context: CanvasRenderingContext2D, lon: Coordinates, lat: Coordinates, sx: (x: number) => number, sy: (y: number) => number, width: number): void {
  const first = lon.values![0], last = lon.values![lon.values!.length - 1], shifts = Math.max(first, last) > 180 ? [0, 360] : [0];
  for (const [colour, thickness] of [["#0008", 2.5], ["#fffc", 1]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.beginPath();
    for (const shift of shifts) for (const line of coastLines()) {
      let before: number | null = null;
      for (const [x, y] of line) {
        const i = indexOf(lon, x + shift), j = indexOf(lat, y);
        if (i === null || j === null) { before = null; continue; }
        const px = sx(i), py = sy(j);
        if (before === null || Math.abs(px - before) > width / 2) context.moveTo(px, py);
        else context.lineTo(px, py);
        before = px;
      }
    }
    context.stroke();
  }
}

function drawGrid(context: CanvasRenderingContext2D, grid: Grid, swap: boolean, sx: (x: number) => number, sy: (y: number) => number, width: number, height: number): void {
  const sides = (edges: number[][]) => (swap ? [edges[0], edges[1]] : [edges[1], edges[0]]);
  const rule = (edges: number[][], colour: string, thickness: number) => {
    const [xs, ys] = sides(edges);
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.beginPath();
    for (const x of xs ?? []) { context.moveTo(sx(x), 0); context.lineTo(sx(x), height); }
    for (const y of ys ?? []) { context.moveTo(0, sy(y)); context.lineTo(width, sy(y)); }
    context.stroke();
  };
  context.save();
  context.strokeStyle = "#f40a";
  context.lineWidth = 1;
  for (const place of grid.absent) {
    const [x0, x1, y0, y1] = swap ? place : [place[2], place[3], place[0], place[1]];
    const [left, right, top, bottom] = [sx(x0), sx(x1), sy(y0), sy(y1)];
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    context.beginPath();
    for (let x = left - (bottom - top); x < right; x += 8) { context.moveTo(x, bottom); context.lineTo(x + (bottom - top), top); }
    context.stroke();
    context.restore();
  }
  context.restore();
  rule(grid.edges, "#000a", 1.6);
  rule(grid.edges, "#fffb", 0.8);
  if (grid.shard_edges) rule(grid.shard_edges, "#ff0d", 2);
}
