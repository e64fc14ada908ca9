// The tree of nodes. Groups list their members when they are opened.
import { useEffect, useState } from "preact/hooks";
import { ask } from "./api";
import { bytes } from "./texts";

export interface Member { path: string; node_type: "array" | "group" | "unreadable"; shape?: number[]; type?: string; nbytes?: number; chunks?: unknown; error?: string; dimension_names?: (string | null)[] | null }
export interface Listing { members: Member[]; complete: boolean; reason: string | null }
interface Props { at: number; path: string; selected: string; filter: string; open: (path: string) => void; depth: number }

export const join = (above: string, name: string) => (above ? `${above}/${name}` : name);

export function Branch({ at, path, selected, filter, open, depth }: Props) {
  const [listing, setListing] = useState<Listing | null>(null), [problem, setProblem] = useState("");
  useEffect(() => { ask<Listing>("tree", { at, path }).then(setListing, (error: Error) => setProblem(error.message)); }, [at, path]);
  if (problem) return <div class="problem">{problem}</div>;
  if (!listing) return <div class="waiting">…</div>;
  return (
    <ul role={depth ? "group" : "tree"}>
      {listing.reason && <li class="problem">{listing.reason}</li>}
      {listing.members.map((member) => <Leaf key={member.path} member={member} {...{ at, path, selected, filter, open, depth }} />)}
      {!listing.complete && !listing.reason && <li class="note">only the first {listing.members.length} members are shown</li>}
      {!listing.members.length && !listing.reason && <li class="note">empty</li>}
    </ul>
  );
}

function Leaf({ member, at, path, selected, filter, open, depth }: Props & { member: Member }) {
  const full = join(path, member.path), holds = selected.startsWith(`${full}/`);
  const [opened, setOpened] = useState(depth < 1 || holds);
  useEffect(() => { if (holds) setOpened(true); }, [holds]);
  const isGroup = member.node_type === "group";
  const fits = !filter || full.toLowerCase().includes(filter.toLowerCase()) || isGroup;
  if (!fits) return null;
  return (
    <li role="treeitem" aria-selected={full === selected} aria-expanded={isGroup ? opened : undefined}>
      <button class={`node ${member.node_type} ${full === selected ? "selected" : ""}`} data-path={full} disabled={member.node_type === "unreadable"}
        onClick={(event) => { if (event.detail) event.currentTarget.blur(); /* keys go to the picture again */ if (isGroup) setOpened(full === selected ? !opened : true); open(full); }}>
        <span class="mark">{isGroup ? (opened ? "▾" : "▸") : member.node_type === "array" ? "▦" : "✕"}</span>
        <span class="name">{member.path}</span>
        {member.shape && <span class="shape">{member.shape.join(" × ") || "scalar"}</span>}
        {member.type && <span class="type">{member.type}</span>}
        {member.nbytes !== undefined && <span class="size">{bytes(member.nbytes)}</span>}
      </button>
      {member.error && <div class="problem" title={member.error}>{member.error}</div>}
      {isGroup && opened && <Branch at={at} path={full} selected={selected} filter={filter} open={open} depth={depth + 1} />}
    </li>
  );
}
