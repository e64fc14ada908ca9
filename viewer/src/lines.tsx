// Lines: an array of one dimension, or the line through the chosen point along a dimension.
import { useEffect, useState } from "preact/hooks";
import { readWindow, type Coordinates, type Facts, type NodeView } from "./api";
import { Plot } from "./plot";
import type { State } from "./state";

interface Props { node: NodeView; state: State; at: number; others: number[]; dimension: number; coordinates?: Coordinates; dark: boolean; height: number; onFacts?: (facts: Facts) => void; onPick?: (index: number) => void }
const MOST = 4000;

export function Line({ node, state, at, others, dimension, coordinates, dark, height, onFacts, onPick }: Props) {
  const [values, setValues] = useState<ArrayLike<number>[] | null>(null), [problem, setProblem] = useState<any>(null), [confirmed, setConfirmed] = useState("");
  const length = node.dimensions[dimension].length, step = Math.max(1, Math.ceil(length / MOST));
  const select = node.dimensions.map((_, n) => (n === dimension ? `::${step}` : String(state.point?.[n] ?? state.fixed[n] ?? 0))).join(",");
  useEffect(() => {
    let current = true;
    setProblem(null);
    Promise.all([at, ...others].map((each) => readWindow({ at: each, path: state.path, select, type: "f8", part: state.part, ...(confirmed === select ? { confirm: 1 } : {}) }))).then((wins) => {
      if (!current) return;
      setValues(wins.map((win) => win.values));
      onFacts?.(wins[0].facts);
    }, (error) => { if (current) setProblem(error); });
    return () => { current = false; };
  }, [at, state.path, select, state.part, confirmed, others.length]);
  if (problem?.cost) return <div class="ask"><p>This line reads {Math.round(problem.cost.stored_bytes / 1e6)} MB.</p><button onClick={() => setConfirmed(select)}>read it</button></div>;
  if (problem) return <div class="problem large">{problem.message}</div>;
  if (!values) return <div class="waiting">reading …</div>;
  return <Plot values={values} labels={["first", "second"].slice(0, values.length).map((name) => (values.length > 1 ? name : state.path.split("/").at(-1) || "value"))} start={0} step={step} coordinates={coordinates} dark={dark} height={height} log={state.log} onPick={onPick} />;
}
