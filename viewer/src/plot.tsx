// A line plot of values along one dimension.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Coordinates } from "./api";
import { coordinate, number } from "./texts";

interface Props { values: ArrayLike<number>[]; labels: string[]; start: number; step: number; coordinates?: Coordinates; dark: boolean; height: number /* 0 fills the element */; log: boolean; onPick?: (index: number) => void }

const LEGEND = 34; // pixels

// The range of an axis: that of the values with a margin, also if all are equal.
function around(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const margin = high - low > Math.abs(low) * 1e-12 ? (high - low) * 0.06 : Math.abs(low) * 0.01 || 1;
  return [low - margin, high + margin];
}

export function Plot({ values, labels, start, step, coordinates, dark, height, log, onPick }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!, ink = dark ? "#ccc" : "#333", lines = dark ? "#333" : "#ddd";
    const space = () => ({ width: Math.max(200, element.clientWidth), height: height || Math.max(160, element.clientHeight - LEGEND) });
    const indices = Array.from({ length: values[0]?.length ?? 0 }, (_, n) => start + n * step);
    const text = (index: number) => coordinate(coordinates, index) ?? String(index);
    const plot = new uPlot({
      ...space(),
      scales: { x: { time: false }, y: log ? { distr: 3 } : { range: (_: uPlot, low: number | null, high: number | null) => around(low, high) } },
      axes: [
        { stroke: ink, grid: { stroke: lines, width: 1 }, ticks: { stroke: lines, width: 1 }, space: coordinates?.texts ? 150 : 70, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => Number.isInteger(tick) ? text(tick) : "") },
        { stroke: ink, grid: { stroke: lines, width: 1 }, ticks: { stroke: lines, width: 1 }, size: 70, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => tick === null ? "" : number(tick)) },
      ],
      series: [
        { label: coordinates?.name ?? "index", value: (_: uPlot, index: number) => index === null || index === undefined ? "–" : text(index) },
        ...labels.map((label, n) => ({ label, stroke: ["#3b82f6", "#f97316"][n], width: 1.5, spanGaps: false, value: (_: uPlot, value: number | null) => number(value) })),
      ],
      cursor: { drag: { x: true, y: false } },
    }, [indices, ...values.map((list) => Array.from(list, (value) => Number.isFinite(value) ? value : null))] as any, element);
    const watcher = new ResizeObserver(() => plot.setSize(space()));
    watcher.observe(element);
    const pick = () => { const index = plot.cursor.idx; if (onPick && typeof index === "number") onPick(indices[index]); };
    plot.over.addEventListener("click", pick);
    element.dataset.drawn = String(Number(element.dataset.drawn ?? 0) + 1);
    return () => { watcher.disconnect(); plot.destroy(); };
  }, [values, coordinates, dark, height, log]);
  return <div class={`plot ${height ? "" : "fill"}`} ref={place} />;
}
