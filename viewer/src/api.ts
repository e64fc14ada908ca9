// Questions to the server, and windows of values.
import { bytes } from "./texts";

export const token = new URLSearchParams(location.search).get("token") ?? "";

export interface Dimension { name: string | null; length: number; coordinate: string | null }
export interface Level { path: string; shape: number[] }
export interface NodeView {
  info: any; documents: Record<string, unknown>; nature: "group" | "image" | "line" | "table";
  dimensions: Dimension[]; levels: Level[]; labels: boolean; fields: string[] | null; complex: boolean; fill: number | null;
}
export interface Coordinates {
  name: string | null; path: string | null; kind: string; units: string | null;
  values: number[] | null; texts: string[] | null; complete: boolean; step: number;
}
export interface Facts {
  shape: number[]; type: string; bytes_read: number; chunks: number; absent: number; requests: number;
  decoded_bytes: number; shown_bytes: number; advice: string[]; seconds: number;
  min: number | null; max: number | null; low?: number | null; high?: number | null; mean: number | null; std?: number; nan: number; count: number;
}
export interface Win { facts: Facts; values: Float32Array | Float64Array | Uint8Array | Uint32Array }

export class Refused extends Error {
  constructor(message: string, readonly hint: string | null, readonly problems: string[], readonly cost: any = null) { super(message); }
}

function address(question: string, parameters: Record<string, string | number>): string {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  return `api/${question}?${query}`;
}

async function get(url: string, signal?: AbortSignal): Promise<Response> {
  const reply = await fetch(url, { headers: { "X-Omnizarr-Token": token }, signal });
  if (reply.ok) return reply;
  const text = await reply.text();
  let answer: any = {};
  try { answer = JSON.parse(text); } catch { answer = { error: text.trim() }; }
  if (answer.needs_confirmation) throw new Refused("This read is large.", null, [], answer.cost);
  throw new Refused(answer.error || `status ${reply.status}`, answer.hint ?? null, answer.problems ?? []);
}

const known = new Map<string, Promise<any>>();

function remembered<T>(key: string, make: () => Promise<T>, most = 64): Promise<T> {
  const old = known.get(key);
  if (old) { known.delete(key); known.set(key, old); return old; }
  const fresh = make();
  known.set(key, fresh);
  fresh.catch(() => known.delete(key));
  while (known.size > most) known.delete(known.keys().next().value!);
  return fresh;
}

export const ask = <T = any>(question: string, parameters: Record<string, string | number>): Promise<T> => {
  const url = address(question, parameters);
  return remembered(url, async () => (await get(url)).json());
};

export const readWindow = (parameters: Record<string, string | number>): Promise<Win> => {
  const url = address("window", parameters);
  return remembered(url, async () => {
    const data = await (await get(url)).arrayBuffer();
    const length = new DataView(data).getUint32(0, true);
    const facts: Facts = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    const start = 4 + length;
    const values = facts.type === "u1" ? new Uint8Array(data, start) : facts.type === "u4" ? new Uint32Array(data, start)
      : facts.type === "f8" ? new Float64Array(data, start) : new Float32Array(data, start);
    return { facts, values };
  });
};

// Asks the user if the server says that the answer costs much.
async function confirmed<T>(parameters: Record<string, string | number>, run: (parameters: Record<string, string | number>) => Promise<T>): Promise<T> {
  try { return await run(parameters); } catch (error) {
    if (!(error instanceof Refused) || !error.cost) throw error;
    const { stored_bytes: size, chunks } = error.cost;
    if (!confirm(`This reads ${bytes(size)} in ${chunks} chunk${chunks === 1 ? "" : "s"}. Read it?`)) throw new Refused(`not read: it takes ${bytes(size)}`, null, []);
    return run({ ...parameters, confirm: 1 });
  }
}

export const askConfirmed = <T = any>(question: string, parameters: Record<string, string | number>): Promise<T> => confirmed(parameters, (all) => ask<T>(question, all));

export const download = (parameters: Record<string, string | number>, name: string): Promise<void> =>
  confirmed(parameters, async (all) => save(await (await get(address("export", all))).blob(), name));

export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
