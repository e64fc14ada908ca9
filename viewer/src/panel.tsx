// The panel at the right: what the node is, its attributes and its metadata document, and what the view costs.
import { useState } from "preact/hooks";
import { ask, type Facts, type NodeView } from "./api";
import { bytes, number } from "./texts";

const TABS = ["about", "attributes", "document", "cost"];

interface Props { node: NodeView; tab: string; facts: Facts | null; statistics: () => Promise<any>; setTab: (tab: string) => void; at: number; path: string }

export function Panel({ node, tab, facts, statistics, setTab, at, path }: Props) {
  return (
    <aside class="panel">
      <nav role="tablist">{TABS.map((name) => <button key={name} role="tab" aria-selected={name === tab} class={name === tab ? "selected" : ""} onClick={() => setTab(name)}>{name}</button>)}</nav>
      {tab === "attributes" ? <Json value={node.info.attributes} /> : tab === "document" ? <Json value={node.documents} /> : tab === "cost" ? <Cost facts={facts} /> : <About key={`${at}/${path}`} {...{ node, facts, statistics, at, path }} />}
    </aside>
  );
}

function Json({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? "";
  return <pre class="json">{text === "{}" ? "none" : text.length > 200_000 ? `${text.slice(0, 200_000)}\n…` : text}</pre>;
}

const list = (value: any) => (Array.isArray(value) ? value.flat(1).length > 40 ? "variable" : value.join(" × ") : "–");
const codec = (value: any) => (typeof value === "string" ? value : `${value.name}${value.configuration ? ` ${Object.entries(value.configuration).filter(([, v]) => typeof v !== "object").map(([k, v]) => `${k}=${v}`).join(" ")}` : ""}`);

function About({ node, facts, statistics, at, path }: { node: NodeView; facts: Facts | null; statistics: () => Promise<any>; at: number; path: string }) {
  const { info } = node, [whole, setWhole] = useState<any>(null);
  const rows: [string, any][] = [["generation", info.format_name], ["store", info.store], ["path", `/${info.path}`]];
  if (info.node_type === "array") {
    rows.push(["type", info.type], ["shape", list(info.shape)], ["chunks", list(info.chunks)]);
    if (info.shards) rows.push(["shards", list(info.shards)]);
    rows.push(["size", bytes(info.nbytes)], ["chunk count", info.nchunks], ["codecs", [...info.filters, info.serializer, ...info.compressors].map(codec).join("\n")], ["fill value", JSON.stringify(info.fill_value)]);
    if (node.levels.length) rows.push(["levels", node.levels.map((level) => `${level.path}: ${level.shape.join(" × ")}`).join("\n")]);
  } else rows.push(["consolidated", info.consolidated ? "yes" : "no"]);
  return (
    <div class="about">
      <dl>{rows.map(([name, value]) => <><dt>{name}</dt><dd>{String(value)}</dd></>)}</dl>
      {facts && <section><h3>shown values</h3><dl>
        <dt>min</dt><dd>{number(facts.min)}</dd><dt>max</dt><dd>{number(facts.max)}</dd><dt>mean</dt><dd>{number(facts.mean)}</dd>
        <dt>std</dt><dd>{number(facts.std)}</dd><dt>NaN</dt><dd>{facts.nan} of {facts.count}</dd></dl></section>}
      {info.node_type === "array" && facts && <section><h3>whole slice</h3>
        {whole ? <dl>{Object.entries(whole).map(([name, value]) => <><dt>{name}</dt><dd>{typeof value === "number" ? number(value) : String(value)}</dd></>)}</dl>
          : <button class="whole" onClick={() => statistics().then(setWhole, (error) => setWhole({ error: error.message }))}>read all elements of the slice</button>}</section>}
      {info.node_type === "array" && <Stored at={at} path={path} />}
    </div>
  );
}

function Stored({ at, path }: { at: number; path: string }) {
  const [stored, setStored] = useState<any>(null);
  return <section><h3>stored</h3>{stored ? <dl>{Object.entries(stored).map(([name, value]) => <><dt>{name}</dt><dd>{name === "nbytes" ? bytes(value as number) : typeof value === "number" ? number(value) : String(value)}</dd></>)}</dl>
    : <button onClick={() => ask("stored", { at, path }).then(setStored, (error) => setStored({ error: error.message }))}>list stored chunks</button>}</section>;
}

function Cost({ facts }: { facts: Facts | null }) {
  if (!facts) return <p class="note">nothing was read</p>;
  return (
    <div class="cost">
      <p class="sentence">This view read {bytes(facts.bytes_read)} to show {bytes(facts.shown_bytes)}.</p>
      <dl><dt>chunks touched</dt><dd>{facts.chunks}</dd><dt>absent</dt><dd>{facts.absent}</dd><dt>requests</dt><dd>{facts.requests}</dd>
        <dt>decoded</dt><dd>{bytes(facts.decoded_bytes)}</dd><dt>time</dt><dd>{Math.round(facts.seconds * 1000)} ms</dd></dl>
      {facts.advice.map((text) => <p class="advice">{text}</p>)}
      <p class="note">Press c to see chunks, shards and absent chunks (hatched).</p>
    </div>
  );
}
