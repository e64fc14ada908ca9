// Elements as text: strings, records, objects, single values.
import { useEffect, useState } from "preact/hooks";
import { askConfirmed, type NodeView } from "./api";
import type { Change } from "./picture";
import type { State } from "./state";
import { dimensionName } from "./texts";

interface Answer { shape: number[]; fields: string[] | null; cells: (string | string[])[] }
const ROWS = 100, COLUMNS = 20;

export function Table({ node, state, at, change }: { node: NodeView; state: State; at: number; change: Change }) {
  const [answer, setAnswer] = useState<Answer | null>(null), [problem, setProblem] = useState("");
  const rank = node.dimensions.length, rows = rank ? Math.max(0, rank - 2) : -1, twoD = rank > 1;
  const rowDimension = twoD ? rank - 2 : rank - 1, length = rank ? node.dimensions[rowDimension].length : 1;
  const first = Math.max(0, Math.min(state.row, Math.max(0, length - 1)));
  const select = node.dimensions.map((_, n) => (n === rowDimension ? `${first}:${first + ROWS}` : twoD && n === rank - 1 ? `0:${COLUMNS}` : String(state.fixed[n] ?? 0))).join(",");
  useEffect(() => {
    setProblem("");
    askConfirmed<Answer>("table", { at, path: state.path, select: rank ? select : "..." }).then(setAnswer, (error: any) => setProblem([error.message, error.hint, ...(error.problems ?? [])].filter(Boolean).join("\n")));
  }, [at, state.path, select]);
  if (problem) return <div class="problem large" data-drawn="1">{problem}</div>;
  if (!answer) return <div class="waiting">reading …</div>;
  const columns = answer.fields ?? (twoD ? Array.from({ length: answer.shape[1] ?? 0 }, (_, n) => String(n)) : ["value"]);
  const count = rank ? answer.shape[0] : 1, width = answer.fields && twoD ? answer.shape[1] : twoD ? columns.length : 1;
  const cell = (row: number, column: number): string => {
    if (answer.fields) { const element = answer.cells[row * width]; return (element as string[])?.[column] ?? ""; }
    return (answer.cells[row * width + column] as string) ?? "";
  };
  return (
    <div class="table" data-drawn="1">
      <div class="rows">
        <button disabled={!first} onClick={() => change({ row: Math.max(0, first - ROWS) })}>↑ earlier</button>
        <span>{rank ? `${dimensionName(node, rowDimension)} ${first} to ${first + count - 1} of ${length}` : "single value"}</span>
        <button disabled={first + count >= length} onClick={() => change({ row: first + ROWS })}>↓ later</button>
        {rows > 0 && <span class="note">other dimensions: sliders</span>}
      </div>
      <div class="cells">
        <table>
          <thead><tr><th />{columns.map((name) => <th key={name}>{name}</th>)}</tr></thead>
          <tbody>{Array.from({ length: count }, (_, row) => <tr key={row}><th>{first + row}</th>{columns.map((name, column) => <td key={name}>{cell(row, column)}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </div>
  );
}
