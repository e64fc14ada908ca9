// A line plot of values along one dimension.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Coordinates } from "./api";
import { coordinate, number } from "./texts";

interface Props { values: ArrayLike<number>[]; labels: string[]; start: number; step: number; coordinates?: Coordinates; dark: boolean; height: number; log: boolean; onPick?: (index: number) => void }

export function Plot({ values, labels, start, step, coordinates, dark, height, log, onPick }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!, ink = dark ? "#ccc" : "#333", lines = dark ? "#333" : "#ddd";
    const indices = Array.from({ length: values[0]?.length ?? 0 }, (_, n) => start + n * step);
    const text = (index: number) => coordinate(coordinates, index) ?? String(index);
    const plot = new uPlot({
      width: Math.max(200, element.clientWidth), height,
      scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
      axes: [
        { stroke: ink, grid: { stroke: lines }, ticks: { stroke: lines }, space: coordinates?.texts ? 150 : 70, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => Number.isInteger(tick) ? text(tick) : "") },
        { stroke: ink, grid: { stroke: lines }, ticks: { stroke: lines }, size: 70, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => tick === null ? "" : number(tick)) },
      ],
      series: [
        { label: coordinates?.name ?? "index", value: (_: uPlot, index: number) => index === null || index === undefined ? "–" : text(index) },
        ...labels.map((label, n) => ({ label, stroke: ["#3b82f6", "#f97316"][n], width: 1.5, spanGaps: false, value: (_: uPlot, value: number | null) => number(value) })),
      ],
      cursor: { drag: { x: true, y: false } },
    }, [indices, ...values.map((list) => Array.from(list, (value) => Number.isFinite(value) ? value : null))] as any, element);
    const watcher = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height }));
    watcher.observe(element);
    const pick = () => { const index = plot.cursor.idx; if (onPick && typeof index === "number") onPick(indices[index]); };
    plot.over.addEventListener("click", pick);
    element.dataset.drawn = String(Number(element.dataset.drawn ?? 0) + 1);
    return () => { watcher.disconnect(); plot.destroy(); };
  }, [values, coordinates, dark, height, log]);
  return <div class="plot" ref={place} />;
}
