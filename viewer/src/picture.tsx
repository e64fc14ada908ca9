// The picture of two dimensions: asks for the window that the screen needs, draws it, and the overlay above it.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, readWindow, Refused, type Coordinates, type NodeView, type Win } from "./api";
import { Painter, type Look, type Values } from "./draw";
import { drawOverlay, type Grid } from "./overlay";
import type { State } from "./state";
import { axes, channelDimension } from "./texts";

export interface Shown { win: Win; values: Values; box: [number, number, number, number]; step: [number, number]; level: string; select: string }
export type Change = (change: Partial<State>, quiet?: boolean) => void;

interface Props {
  node: NodeView; other: NodeView | null; state: State; at: number; change: Change; look: Look; rgb: boolean; difference: boolean;
  coordinates: Record<number, Coordinates>; confirmed: string; onShown: (shown: Shown) => void; onRefused: (error: Error | null, select: string) => void;
  onPoint: (x: number, y: number) => void; onHover: (x: number, y: number, value: number | null) => void; title: string;
}

export function fullView(node: NodeView, state: State): [number, number, number, number] {
  const [x, y] = axes(node, state);
  return [0, 0, node.dimensions[x].length, node.dimensions[y].length];
}

// The window of a view: the level whose elements are as large as pixels, and a step within it.
export function plan(node: NodeView, state: State, view: [number, number, number, number], width: number, height: number, rgb: boolean) {
  const [x, y] = axes(node, state), shape = node.dimensions.map((each) => each.length);
  let path = state.path, lengths = shape;
  for (const level of node.levels) {
    const fits = ((view[2] - view[0]) * level.shape[x]) / shape[x] >= width * 0.75 && ((view[3] - view[1]) * level.shape[y]) / shape[y] >= height * 0.75;
    if (fits || level === node.levels[0]) { path = level.path; lengths = level.shape; }
  }
  if (!node.levels.length) { path = state.path; lengths = shape; }
  const scale = (n: number) => lengths[n] / Math.max(1, shape[n]);
  const span = (n: number, from: number, to: number, pixels: number): [number, number, number] => {
    const start = Math.max(0, Math.floor(from * scale(n))), stop = Math.min(lengths[n], Math.max(start + 1, Math.ceil(to * scale(n))));
    const step = Math.max(1, Math.floor((stop - start) / Math.max(1, pixels)));
    return [start - (start % step), stop, step];
  };
  const xs = span(x, view[0], view[2], width), ys = span(y, view[1], view[3], height), channel = rgb ? channelDimension(node) : null;
  const select = shape.map((_, n) => {
    if (n === x) return xs.join(":");
    if (n === y) return ys.join(":");
    if (n === channel) return ":";
    const index = Math.min(state.fixed[n] ?? 0, Math.max(0, shape[n] - 1));
    return String(Math.min(lengths[n] - 1, Math.floor(index * scale(n))));
  }).join(",");
  const box: [number, number, number, number] = [xs[0] / scale(x), ys[0] / scale(y), xs[1] / scale(x), ys[1] / scale(y)];
  return { path, select, box, step: [xs[2] / scale(x), ys[2] / scale(y)] as [number, number], x, y, channel };
}

// Values in rows of x, whatever the order of the dimensions in the array.
export function arrange(win: Win, x: number, y: number): Values {
  if (y < x) return { width: win.facts.shape[1], height: win.facts.shape[0], data: win.values };
  const [width, height] = win.facts.shape, data = win.values instanceof Float64Array ? new Float64Array(width * height) : new Float32Array(width * height);
  for (let i = 0; i < width; i++) for (let j = 0; j < height; j++) data[j * width + i] = win.values[i * height + j];
  return { width, height, data };
}

function rgbPixels(win: Win, x: number, y: number, channel: number, low: number, high: number): { pixels: Uint8ClampedArray; width: number; height: number } {
  const order = [x, y, channel].map((n) => [x, y, channel].filter((m) => m < n).length), shape = win.facts.shape;
  const strides = [shape[1] * shape[2], shape[2], 1], [sx, sy, sc] = order.map((n) => strides[n]);
  const [width, height, count] = order.map((n) => shape[n]);
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let j = 0; j < height; j++) for (let i = 0; i < width; i++) for (let c = 0; c < 4; c++) {
    pixels[(j * width + i) * 4 + c] = c < count ? (c === 3 ? win.values[j * sy + i * sx + c * sc] : ((win.values[j * sy + i * sx + c * sc] - low) / (high - low)) * 255) : 255;
  }
  return { pixels, width, height };
}

export function Picture(props: Props) {
  const { node, state, look } = props;
  const frame = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), above = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null), shown = useRef<Shown | null>(null), turn = useRef(0);
  const busy = useRef(0), newest = useRef(0), drawing = useRef(""), wanted = useRef<(() => void) | null>(null);
  const [size, setSize] = useState<[number, number]>([0, 0]), [grid, setGrid] = useState<Grid | null>(null), [drawn, setDrawn] = useState(0);
  const view = state.view ?? fullView(node, state);

  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setSize([Math.floor(entry.contentRect.width), Math.floor(entry.contentRect.height)]));
    watcher.observe(frame.current!);
    return () => { watcher.disconnect(); wanted.current = null; drawing.current = "gone"; };
  }, []);
  const ready = (): Painter => {
    if (painter.current?.canvas !== canvas.current) painter.current = new Painter(canvas.current!, !props.rgb && !new URLSearchParams(location.search).has("no-webgl"));
    return painter.current!;
  };

  const scale = Math.min(size[0] / Math.max(1, view[2] - view[0]), size[1] / Math.max(1, view[3] - view[1]));
  const keeps = (view[2] - view[0]) / (view[3] - view[1]) < 8 && (view[3] - view[1]) / (view[2] - view[0]) < 8;
  const width = Math.max(1, keeps ? Math.round((view[2] - view[0]) * scale) : size[0]), height = Math.max(1, keeps ? Math.round((view[3] - view[1]) * scale) : size[1]);

  useEffect(() => {
    if (!size[0] || !size[1]) return;
    const mine = ++turn.current, planned = plan(node, state, view, width, height, props.rgb);
    // The difference of two rounded numbers could be zero where theirs is not.
    const parameters: Record<string, string | number> = { at: props.at, path: planned.path, select: planned.select, type: props.difference ? "f8" : "f4", part: state.part };
    if (props.confirmed === planned.select) parameters.confirm = 1;
    const looks = [planned.x, planned.y, state.part, props.rgb, props.difference].join();
    drawing.current = looks;
    const read = () => {
      busy.current++;
      const reads = [readWindow(parameters)];
      if (props.difference) reads.push(readWindow({ ...parameters, at: 1 - props.at }));
      Promise.all(reads).then(show, (error: Error) => { if (mine === turn.current) props.onRefused(error, planned.select); }).finally(() => {
        busy.current--;
        const next = wanted.current;
        wanted.current = null;
        next?.();
      });
    };
    const show = ([win, second]: Win[]) => {
      // While the user drags, older windows are drawn, too, but never in another arrangement or after a newer one.
      if (drawing.current !== looks || mine < newest.current) return;
      newest.current = mine;
      let values = props.rgb ? { width: 1, height: 1, data: win.values } : arrange(win, planned.x, planned.y);
      if (second) {
        const b = arrange(second, planned.x, planned.y), data = new Float64Array(values.width * values.height);
        for (let n = 0; n < data.length; n++) data[n] = values.data[n] - (b.data[n] ?? NaN);
        values = { width: values.width, height: values.height, data };
      }
      shown.current = { win, values, box: planned.box, step: planned.step, level: planned.path, select: planned.select };
      props.onRefused(null, "");
      props.onShown(shown.current);
      setDrawn((count) => count + 1);
    };
    // Two windows are on their way at most. Of those that a moving slider asks for meanwhile, only the last is read.
    if (busy.current < 2) read();
    else wanted.current = read;
    ready(); // starting WebGL takes as long as reading a window, which is on its way now
  }, [node, state.path, state.x, state.y, JSON.stringify(state.fixed), state.part, view.join(), width, height, props.at, props.rgb, props.difference, props.confirmed]);

  useEffect(() => {
    const now = shown.current;
    if (!now) return;
    const painter = ready();
    const began = performance.now(), ratio = Math.min(2, window.devicePixelRatio || 1);
    // Setting the size clears a canvas, so it is set only together with drawing.
    canvas.current!.width = Math.max(1, Math.min(8192, Math.round(((now.box[2] - now.box[0]) / (view[2] - view[0])) * width * ratio)));
    canvas.current!.height = Math.max(1, Math.min(8192, Math.round(((now.box[3] - now.box[1]) / (view[3] - view[1])) * height * ratio)));
    if (props.rgb) {
      const [x, y] = axes(node, state), channel = channelDimension(node)!;
      const eight = node.info.type === "uint8", { pixels, width: w, height: h } = rgbPixels(now.win, x, y, channel, eight ? 0 : look.low, eight ? 255 : look.high);
      painter.put(pixels, w, h);
    } else painter.draw(now.values, look);
    frame.current!.dataset.drawn = String(Number(frame.current!.dataset.drawn ?? 0) + 1);
    frame.current!.dataset.milliseconds = String(performance.now() - began);
    frame.current!.dataset.painter = painter.kind;
  }, [drawn, JSON.stringify(look), width, height, props.rgb]);

  useEffect(() => {
    if (!state.grid || !shown.current) { setGrid(null); return; }
    const planned = plan(node, state, view, 1e9, 1e9, false);
    ask<Grid>("chunks", { at: props.at, path: state.path, select: planned.select }).then(setGrid, () => setGrid(null));
  }, [state.grid, drawn]);

  useEffect(() => {
    const now = shown.current;
    if (!above.current || !now) return;
    const [x, y] = axes(node, state);
    drawOverlay(above.current, { view, width, height, grid, swap: y > x, state, coordinates: [props.coordinates[x], props.coordinates[y]], point: state.point ? [state.point[x], state.point[y]] : null, dark: look.dark });
  });

  const place = (event: MouseEvent): [number, number] => {
    const box = above.current!.getBoundingClientRect();
    return [view[0] + ((event.clientX - box.left) / box.width) * (view[2] - view[0]), view[1] + ((event.clientY - box.top) / box.height) * (view[3] - view[1])];
  };
  const hold = useRef<{ x: number; y: number; view: typeof view; moved: boolean } | null>(null);
  const zoomAt = (cx: number, cy: number, factor: number) => {
    const whole = fullView(node, state), [x0, y0, x1, y1] = view;
    const next: typeof view = [cx - (cx - x0) * factor, cy - (cy - y0) * factor, cx + (x1 - cx) * factor, cy + (y1 - cy) * factor];
    props.change({ view: limit(next, whole) }, true);
  };
  // The picture shows the part of its window that is in view.
  const now = shown.current, box = now?.box ?? view, sx = width / (view[2] - view[0]), sy = height / (view[3] - view[1]);
  const style = { left: `${(box[0] - view[0]) * sx}px`, top: `${(box[1] - view[1]) * sy}px`, width: `${(box[2] - box[0]) * sx}px`, height: `${(box[3] - box[1]) * sy}px` };
  return (
    <div class="frame" ref={frame} role="img" aria-label={`picture of ${props.title}`} tabIndex={0}>
      <div class="stage" style={{ width: `${width}px`, height: `${height}px` }}>
        <canvas key={props.rgb ? "rgb" : "values"} class="values" ref={canvas} style={style} />
        <canvas class="above" ref={above} width={width} height={height}
          onWheel={(event) => { event.preventDefault(); const [cx, cy] = place(event); zoomAt(cx, cy, event.deltaY > 0 ? 1.25 : 0.8); }}
          onMouseDown={(event) => { hold.current = { x: event.clientX, y: event.clientY, view, moved: false }; }}
          onMouseMove={(event) => {
            const [cx, cy] = place(event), held = hold.current;
            if (held && Math.abs(event.clientX - held.x) + Math.abs(event.clientY - held.y) > 4) {
              held.moved = true;
              const dx = ((held.x - event.clientX) / width) * (held.view[2] - held.view[0]), dy = ((held.y - event.clientY) / height) * (held.view[3] - held.view[1]);
              props.change({ view: limit([held.view[0] + dx, held.view[1] + dy, held.view[2] + dx, held.view[3] + dy], fullView(node, state)) }, true);
            }
            if (now && !props.rgb) {
              const i = Math.floor((cx - now.box[0]) / now.step[0]), j = Math.floor((cy - now.box[1]) / now.step[1]);
              const inside = i >= 0 && j >= 0 && i < now.values.width && j < now.values.height;
              props.onHover(cx, cy, inside ? now.values.data[j * now.values.width + i] : null);
            } else props.onHover(cx, cy, null);
          }}
          onMouseUp={(event) => { const held = hold.current; hold.current = null; if (held && !held.moved) props.onPoint(...place(event)); }}
          onMouseLeave={() => { hold.current = null; }} />
      </div>
      {props.title && <div class="caption">{props.title}</div>}
    </div>
  );
}

// Keeps a view inside the array, and at least a few elements large.
export function limit(view: [number, number, number, number], whole: [number, number, number, number]): [number, number, number, number] | null {
  const width = Math.max(4, Math.min(view[2] - view[0], whole[2])), height = Math.max(4, Math.min(view[3] - view[1], whole[3]));
  if (view[2] - view[0] >= whole[2] && view[3] - view[1] >= whole[3]) return null;
  const x0 = Math.max(0, Math.min(view[0], whole[2] - width)), y0 = Math.max(0, Math.min(view[1], whole[3] - height));
  // The address keeps two digits: a reload gives the same picture.
  return [x0, y0, Math.min(whole[2], x0 + width), Math.min(whole[3], y0 + height)].map((each) => Math.round(each * 100) / 100) as typeof view;
}

export { Refused };
