// What the page shows of a group: its title, and its members as a table.
import { useEffect, useState } from "preact/hooks";
import { ask, type NodeView } from "./api";
import { bytes } from "./texts";
import { join, type Listing } from "./tree";

interface Props { node: NodeView; at: number; path: string; name: string; open: (path: string) => void }

export function Overview({ node, at, path, name, open }: Props) {
  const [listing, setListing] = useState<Listing | null>(null), attributes = node.info.attributes ?? {};
  useEffect(() => { ask<Listing>("tree", { at, path }).then(setListing, () => setListing(null)); }, [at, path]);
  const text = (key: string) => (typeof attributes[key] === "string" ? attributes[key] as string : null);
  return (
    <div class="overview" data-drawn="1">
      <h1>{path || name}</h1>
      <p>{text("title") ?? text("long_name") ?? text("description") ?? ""}</p>
      <p class="note">a group of {node.info.format_name}{listing && `, ${listing.members.length}${listing.complete ? "" : " or more"} members`}</p>
      {listing && listing.members.length > 0 && <table>
        <thead><tr><th>name</th><th>shape</th><th>type</th><th>chunks</th><th>size</th></tr></thead>
        <tbody>{listing.members.map((each) => <tr key={each.path}>
          <td><button class="link" disabled={each.node_type === "unreadable"} onClick={() => open(join(path, each.path))}>{each.path}{each.node_type === "group" ? "/" : ""}</button></td>
          {each.node_type === "array" ? <>
            <td>{each.shape!.map((length, n) => (each.dimension_names?.[n] ? `${each.dimension_names[n]} ${length}` : length)).join(" × ") || "scalar"}</td><td>{each.type}</td>
            <td>{Array.isArray(each.chunks) && each.chunks.every((length) => typeof length === "number") ? each.chunks.join(" × ") : ""}</td><td class="size">{each.nbytes === undefined ? "" : bytes(each.nbytes)}</td>
          </> : <td colSpan={4} class={each.error ? "bad" : "note"}>{each.error ?? "group"}</td>}
        </tr>)}</tbody>
      </table>}
    </div>
  );
}
