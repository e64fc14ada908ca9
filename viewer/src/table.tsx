// Elements as text: strings, records, objects, single values.
import { useEffect, useState } from "preact/hooks";
import { askConfirmed, type Coordinates, type NodeView } from "./api";
import type { Change } from "./picture";
import type { State } from "./state";
import { coordinate, dimensionName } from "./texts";

interface Answer { shape: number[]; fields: string[] | null; cells: (string | string[])[] }
const ROWS = 100, COLUMNS = 20;

// The dimensions of rows and of columns; null if there is none. The columns of records are their fields.
export function tableDimensions(node: NodeView): [number | null, number | null] {
  const rank = node.dimensions.length;
  if (!rank) return [null, null];
  return rank === 1 || node.fields ? [rank - 1, null] : [rank - 2, rank - 1];
}

// Where the table begins after a key; null if the key does not move it.
export function tableStep(node: NodeView, state: State, key: string): Partial<State> | null {
  const [rows, columns] = tableDimensions(node), inside = (value: number, dimension: number | null) => Math.max(0, Math.min(value, (dimension === null ? 1 : node.dimensions[dimension].length) - 1));
  const row = (value: number) => ({ row: inside(value, rows) }), column = (value: number) => ({ column: inside(value, columns) });
  const steps: Record<string, () => Partial<State>> = {
    ArrowDown: () => row(state.row + 1), ArrowUp: () => row(state.row - 1), PageDown: () => row(state.row + ROWS), PageUp: () => row(state.row - ROWS),
    ArrowRight: () => column(state.column + 1), ArrowLeft: () => column(state.column - 1), Home: () => row(0), End: () => row(rows === null ? 0 : node.dimensions[rows].length - ROWS),
  };
  return steps[key]?.() ?? null;
}

interface Props { node: NodeView; state: State; at: number; change: Change; coordinates: Record<number, Coordinates> }

export function Table({ node, state, at, change, coordinates }: Props) {
  const [answer, setAnswer] = useState<{ first: number; left: number; answer: Answer } | null>(null), [problem, setProblem] = useState("");
  const [rows, columns] = tableDimensions(node), start = (wanted: number, dimension: number | null) => (dimension === null ? 0 : Math.max(0, Math.min(wanted, node.dimensions[dimension].length - 1)));
  const wantedRow = start(state.row, rows), wantedColumn = start(state.column, columns);
  const select = node.dimensions.map((each, n) => (n === rows ? `${wantedRow}:${wantedRow + ROWS}` : n === columns ? `${wantedColumn}:${wantedColumn + COLUMNS}` : String(Math.min(state.fixed[n] ?? 0, Math.max(0, each.length - 1))))).join(",");
  useEffect(() => {
    let here = true;
    setProblem("");
    askConfirmed<Answer>("table", { at, path: state.path, select: rows === null ? "..." : select })
      .then((given) => here && setAnswer({ first: wantedRow, left: wantedColumn, answer: given }), (error: any) => here && setProblem([error.message, error.hint, ...(error.problems ?? [])].filter(Boolean).join("\n")));
    return () => { here = false; };
  }, [at, state.path, select]);
  if (problem) return <div class="problem large" data-drawn="1">{problem}</div>;
  if (!answer) return <div class="waiting">reading …</div>;
  const { first, left, answer: { shape, fields, cells } } = answer, count = rows === null ? 1 : shape[0], width = columns === null ? 1 : shape[1];
  const label = (dimension: number, index: number) => coordinate(coordinates[dimension], index) ?? String(index);
  const titles = fields ?? (columns === null ? ["value"] : Array.from({ length: width }, (_, n) => label(columns, left + n)));
  const cell = (row: number, column: number): string => (fields ? (cells[row] as string[])?.[column] : (cells[row * width + column] as string)) ?? "";
  const range = (dimension: number, from: number, length: number) => `${dimensionName(node, dimension)} ${from} to ${from + length - 1} of ${node.dimensions[dimension].length}`;
  return (
    <div class="table" data-drawn="1" data-first={first} data-left={left}>
      <div class="rows">
        {rows === null ? <span>single value</span> : !count ? <span>no elements</span> : <>
          <button disabled={!first} title="Page Up" onClick={() => change({ row: Math.max(0, first - ROWS) })}>↑ earlier</button>
          <span>{range(rows, first, count)}</span>
          <button disabled={first + count >= node.dimensions[rows].length} title="Page Down" onClick={() => change({ row: first + ROWS })}>↓ later</button></>}
        {columns !== null && width > 0 && width < node.dimensions[columns].length && <>
          <button disabled={!left} onClick={() => change({ column: Math.max(0, left - COLUMNS) })}>←</button>
          <span>{range(columns, left, width)}</span>
          <button disabled={left + width >= node.dimensions[columns].length} onClick={() => change({ column: left + COLUMNS })}>→</button></>}
      </div>
      <div class="cells">
        <table>
          <thead><tr><th />{titles.map((name, n) => <th key={n}>{name}</th>)}</tr></thead>
          <tbody>{Array.from({ length: count }, (_, row) => <tr key={row}><th>{rows === null ? "" : label(rows, first + row)}</th>{titles.map((_, column) => <td key={column} title={cell(row, column)}>{cell(row, column)}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </div>
  );
}
