// Sliders of the other dimensions, colours, limits with the histogram, and choices of how to draw.
import { useEffect, useRef } from "preact/hooks";
import type { Coordinates, NodeView } from "./api";
import { mapNames, table } from "./colours";
import type { Change } from "./picture";
import type { State } from "./state";
import { tableDimensions } from "./table";
import { axes, channelDimension, coordinate, dimensionName, number } from "./texts";

export interface Sample { count: number; min: number | null; max: number | null; low: number | null; high: number | null; nan: number; histogram: number[] }

export function Sliders({ node, state, change, coordinates, playing, play, mode }: { node: NodeView; state: State; change: Change; coordinates: Record<number, Coordinates>; playing: number | null; play: (dimension: number | null) => void; mode: string }) {
  const rank = node.dimensions.length, [x, y] = rank > 1 ? axes(node, state) : [0, 0], channel = mode === "rgb" ? channelDimension(node) : null;
  const shown = mode === "table" ? tableDimensions(node) : mode === "line" ? [node.nature === "line" ? 0 : state.along ?? rank - 1] : [x, y];
  const others = node.dimensions.map((_, n) => n).filter((n) => !shown.includes(n) && n !== channel);
  return (
    <div class="sliders">
      {others.map((n) => {
        const length = node.dimensions[n].length, index = Math.min(state.fixed[n] ?? 0, Math.max(0, length - 1));
        const set = (value: number) => change({ fixed: { ...state.fixed, [n]: Math.max(0, Math.min(length - 1, value)) } });
        return (
          <label class="slider" key={n}>
            <span class="name">{dimensionName(node, n)}</span>
            <input type="range" data-dimension={n} min={0} max={Math.max(0, length - 1)} value={index} aria-label={dimensionName(node, n)} onInput={(event) => set(Number((event.target as HTMLInputElement).value))} />
            <input type="number" min={0} max={Math.max(0, length - 1)} value={index} aria-label={`index of ${dimensionName(node, n)}`} onChange={(event) => set(Number((event.target as HTMLInputElement).value))} />
            <span class="value">{coordinate(coordinates[n], index) ?? `of ${length}`}</span>
            <button title="animate (space)" aria-label={`animate ${dimensionName(node, n)}`} onClick={() => play(playing === n ? null : n)}>{playing === n ? "❚❚" : "▶"}</button>
          </label>
        );
      })}
    </div>
  );
}

export function Axes({ node, state, change }: { node: NodeView; state: State; change: Change }) {
  const [x, y] = axes(node, state);
  const choice = (label: string, value: number, other: number, name: "x" | "y") => (
    <label>{label}<select aria-label={`dimension of ${label}`} value={value} onChange={(event) => {
      const chosen = Number((event.target as HTMLSelectElement).value);
      change({ [name]: chosen, ...(chosen === other ? { [name === "x" ? "y" : "x"]: value } : { [name === "x" ? "y" : "x"]: other }), view: null } as Partial<State>);
    }}>{node.dimensions.map((_, n) => <option value={n}>{dimensionName(node, n)}</option>)}</select></label>
  );
  return <span class="axes">{choice("→", x, y, "x")}{choice("↓", y, x, "y")}</span>;
}

export function Colours({ state, change, sample, low, high, map }: { state: State; change: Change; sample: Sample | null; low: number; high: number; map: string }) {
  const bar = useRef<HTMLCanvasElement>(null), held = useRef<"low" | "high" | null>(null);
  const first = sample?.min ?? low, last = sample?.max ?? high, least = Math.min(first, low), most = Math.max(last, high), span = most - least || 1;
  useEffect(() => {
    const context = bar.current!.getContext("2d")!, { width, height } = bar.current!, colours = table(map, state.reverse);
    context.clearRect(0, 0, width, height);
    const counts = sample?.histogram ?? [], top = Math.max(1, ...counts.map((count) => Math.sqrt(count)));
    for (let n = 0; n < width; n++) {
      const value = least + (n / width) * span, t = state.log && low > 0 ? (Math.log(Math.max(value, 1e-38)) - Math.log(low)) / (Math.log(high) - Math.log(low)) : (value - low) / (high - low || 1);
      const place = Math.max(0, Math.min(255, Math.round(t * 255))) * 4;
      context.fillStyle = `rgb(${colours[place]},${colours[place + 1]},${colours[place + 2]})`;
      const bin = last > first ? Math.floor(((value - first) / (last - first)) * counts.length) : -1;
      const count = Math.sqrt(counts[bin] ?? 0) / top;
      context.fillRect(n, height - 8 - count * (height - 10), 1, count * (height - 10));
      context.fillRect(n, height - 6, 1, 6);
    }
  });
  const drag = (event: MouseEvent) => {
    const box = bar.current!.getBoundingClientRect(), value = least + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * span;
    held.current ??= Math.abs(value - low) < Math.abs(value - high) ? "low" : "high";
    if (held.current === "low" && value < high) change({ low: value, high }, true);
    if (held.current === "high" && value > low) change({ low, high: value }, true);
  };
  const handle = (name: "low" | "high", value: number) => <span class={`handle ${name}`} role="slider" tabIndex={0} aria-label={`${name} limit, in the histogram`} aria-valuenow={value} aria-valuemin={least} aria-valuemax={most}
    style={{ left: `${Math.max(0, Math.min(1, (value - least) / span)) * 100}%` }} onKeyDown={(event) => {
      const parts: Record<string, number> = { ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1 };
      if (event.key === "Home") change({ low: null, high: null });
      else if (parts[event.key]) {
        const moved = value + parts[event.key] * span;
        if (name === "low" ? moved < high : moved > low) change(name === "low" ? { low: moved, high } : { low, high: moved }, true);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    }} />;
  const field = (name: "low" | "high", value: number) => <input class="limit" aria-label={`${name} limit`} value={number(value)} onChange={(event) => {
    const given = Number((event.target as HTMLInputElement).value);
    if (Number.isFinite(given)) change(name === "low" ? { low: given, high } : { low, high: given });
  }} />;
  return (
    <span class="colours">
      <select aria-label="colour map" value={map} onChange={(event) => change({ map: (event.target as HTMLSelectElement).value })}>{mapNames.map((name) => <option>{name}</option>)}</select>
      {field("low", low)}
      <span class="histogram" title="drag the limits; double click: 2–98 %" onMouseDown={drag} onMouseMove={(event) => { if (event.buttons) drag(event); }} onMouseUp={() => { held.current = null; }} onMouseLeave={() => { held.current = null; }} onDblClick={() => change({ low: null, high: null })}>
        <canvas ref={bar} width={220} height={40} />{handle("low", low)}{handle("high", high)}
      </span>
      {field("high", high)}
      <label><input type="checkbox" checked={state.log} onChange={() => change({ log: !state.log })} />log</label>
      <label><input type="checkbox" checked={state.reverse} onChange={() => change({ reverse: !state.reverse })} />reverse</label>
    </span>
  );
}
