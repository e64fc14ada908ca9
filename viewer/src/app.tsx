// The page: the tree at the left, the data in the middle, the panel at the right.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, askConfirmed, download, readWindow, Refused, save, token, type Coordinates, type Facts, type NodeView } from "./api";
import { mapNames } from "./colours";
import { Axes, Colours, Sliders, type Sample } from "./controls";
import type { Look } from "./draw";
import { CopyAs, Help } from "./help";
import { Line } from "./lines";
import { Panel } from "./panel";
import { fullView, limit, Picture, plan, type Shown } from "./picture";
import { format, initial, parse, type State } from "./state";
import { Overview } from "./overview";
import { Table, tableStep } from "./table";
import { axes, bytes, channelDimension, coordinate, dimensionName, number, selectionText } from "./texts";
import { Branch } from "./tree";

interface Site { version: string; locations: { name: string; location: string; kind: string }[] }
const quote = (text: string) => JSON.stringify(text);

// What the panel tells of values that the page has computed itself.
function summary(data: ArrayLike<number>) {
  let min = Infinity, max = -Infinity, sum = 0, squares = 0, nan = 0;
  for (let n = 0; n < data.length; n++) {
    const value = data[n];
    if (!Number.isFinite(value)) { nan++; continue; }
    min = Math.min(min, value); max = Math.max(max, value); sum += value; squares += value * value;
  }
  const count = data.length - nan, mean = count ? sum / count : null;
  const histogram = new Array(64).fill(0);
  if (max > min) for (let n = 0; n < data.length; n++) if (Number.isFinite(data[n])) histogram[Math.min(63, Math.floor(((data[n] - min) / (max - min)) * 64))]++;
  return { histogram, low: count ? min : null, high: count ? max : null, min: count ? min : null, max: count ? max : null, mean, std: mean === null ? undefined : Math.sqrt(Math.max(0, squares / count - mean * mean)), nan, count: data.length };
}

export function App() {
  const [state, setState] = useState<State>(() => parse(location.hash)), current = useRef(state);
  const [site, setSite] = useState<Site | null>(null), [loaded, setLoaded] = useState<{ place: string; node: NodeView } | null>(null), [other, setOther] = useState<NodeView | null>(null);
  const [problem, setProblem] = useState<any>(null), [refused, setRefused] = useState<{ error: any; select: string; whole?: boolean } | null>(null), [confirmed, setConfirmed] = useState("");
  const [coordinates, setCoordinates] = useState<Record<number, Coordinates>>({}), [sample, setSample] = useState<Sample | null>(null), [facts, setFacts] = useState<Facts | null>(null);
  const [hover, setHover] = useState(""), [point, setPoint] = useState<{ value: string; place: string } | null>(null), [filter, setFilter] = useState("");
  const [dialog, setDialog] = useState<"" | "help" | "copy">(""), [playing, setPlaying] = useState<number | null>(null), shown = useRef<Shown | null>(null), tidy = useRef(0);
  const [systemDark, setSystemDark] = useState(matchMedia("(prefers-color-scheme: dark)").matches);

  const change = useCallback((part: Partial<State>, quiet = false) => {
    const next = { ...current.current, ...part };
    current.current = next;
    setState(next);
    clearTimeout(tidy.current);
    const write = () => history[quiet || playingNow.current !== null ? "replaceState" : "pushState"](null, "", `${location.pathname}${location.search}#${format(next)}`);
    if (quiet) tidy.current = window.setTimeout(write, 150);
    else write();
  }, []);
  const playingNow = useRef<number | null>(null);
  playingNow.current = playing;
  useEffect(() => {
    const back = () => { clearTimeout(tidy.current); current.current = parse(location.hash); setState(current.current); };
    addEventListener("popstate", back);
    const scheme = matchMedia("(prefers-color-scheme: dark)"), turn = () => setSystemDark(scheme.matches);
    scheme.addEventListener("change", turn);
    ask<Site>("site", {}).then(setSite, setProblem);
    return () => { removeEventListener("popstate", back); scheme.removeEventListener("change", turn); };
  }, []);

  const dark = state.theme ? state.theme === "dark" : systemDark, at = state.at;
  const node = loaded?.place === `${at}/${state.path}` ? loaded.node : null; // never the node of another path
  useEffect(() => { document.documentElement.dataset.theme = dark ? "dark" : "light"; }, [dark]);
  const open = useCallback((path: string, place: number) => { const { map, theme, grid, tab, compare } = current.current; change({ ...initial, at: place, path, map, theme, grid, tab, compare }); }, []);

  useEffect(() => { // a node
    let here = true;
    setSample(null); setFacts(null); setRefused(null); setProblem(null); setCoordinates({}); setHover(""); setPlaying(null); setOther(null); shown.current = null;
    ask<NodeView>("node", { at, path: state.path }).then((answer) => {
      if (!here) return;
      setLoaded({ place: `${at}/${state.path}`, node: answer });
      document.title = `${answer.info.path || site?.locations[at]?.name || "omnizarr"}`;
      answer.dimensions.forEach((dimension, n) => {
        if (dimension.coordinate) ask<Coordinates>("coordinates", { at, path: state.path, dimension: n }).then((each) => here && setCoordinates((known) => ({ ...known, [n]: each })), () => {});
      });
    }, (error) => here && setProblem(error));
    return () => { here = false; };
  }, [at, state.path]);
  useEffect(() => { if (state.compare !== "off" && site && site.locations.length > 1) ask<NodeView>("node", { at: 1 - at, path: state.path }).then(setOther, () => setOther(null)); }, [state.compare, state.path, at, site]);

  const modes: State["mode"][] = !node ? [] : (["auto", "image", "line", "table", "labels", "rgb"] as State["mode"][]).filter((mode) => mode === "auto" || mode === "table"
    || ((node.nature !== "table" || node.fields) && node.dimensions.length > (mode === "line" ? 0 : 1) && (mode !== "rgb" || channelDimension(node) !== null)));
  const nature = !node ? "" : state.mode === "auto" || !modes.includes(state.mode) ? (node.nature === "image" && channelDimension(node) !== null && node.info.type === "uint8" ? "rgb" : node.nature === "image" && node.labels ? "labels" : node.nature) : state.mode;
  const isPicture = nature === "image" || nature === "rgb" || nature === "labels", comparing = state.compare !== "off" && other !== null && isPicture, differs = comparing && state.compare === "difference";
  useEffect(() => {
    if (!node || !facts || !isPicture) return; // the first picture has the limits of its window
    let here = true;
    ask<Sample>("sample", { at, path: node.levels.length ? node.levels.at(-1)!.path : state.path, select: "...", part: state.part }).then((answer) => here && setSample(answer), () => {});
    return () => { here = false; };
  }, [node, state.part, isPicture, facts !== null]);

  useEffect(() => setRefused(null), [JSON.stringify(state.fixed), state.x, state.y, state.part]);

  let low = state.low ?? sample?.low ?? facts?.low ?? 0, high = state.high ?? sample?.high ?? facts?.high ?? 1;
  const isPhase = node?.complex && state.part === "phase";
  if (isPhase && state.low === null) [low, high] = [-Math.PI, Math.PI];
  if (differs && state.low === null) { const side = Math.max(Math.abs(facts?.max ?? 1), Math.abs(facts?.min ?? 1), 1e-30); [low, high] = [-side, side]; }
  if (!(high > low)) high = low + (Math.abs(low) || 1) * 1e-3;
  if (state.log && low <= 0) low = Math.max(high, 1e-30) * 1e-4;
  const look: Look = { low, high, log: state.log, map: differs && state.map === "viridis" ? "red–blue" : isPhase && state.map === "viridis" ? "rainbow" : state.map, // the phase is a circle
    reverse: state.reverse, labels: nature === "labels", fill: node?.fill === 0 || state.compare === "difference" ? null : node?.fill ?? null, dark };

  const step = useCallback((by: number) => { // along the first slider
    if (!node) return;
    const now = current.current, pair = node.dimensions.length > 1 ? axes(node, now) : [0, 0];
    const first = playingNow.current ?? node.dimensions.findIndex((_, n) => !pair.includes(n));
    if (first < 0) return;
    const length = node.dimensions[first].length;
    change({ fixed: { ...now.fixed, [first]: (((now.fixed[first] ?? 0) + by) % length + length) % length } }, true);
  }, [node]);
  useEffect(() => { // the next picture is asked for as soon as the last one is drawn
    if (playing === null || !node) return;
    let here = true, last = 0;
    const tick = (time: number) => {
      if (!here) return;
      const drawn = Number(document.querySelector<HTMLElement>(".frame")?.dataset.drawn ?? 0);
      if (drawn !== last || time - began > 2000) { last = drawn; began = time; step(1); prefetch(); }
      requestAnimationFrame(tick);
    };
    const prefetch = () => {
      const frame = document.querySelector<HTMLElement>(".stage");
      if (!frame) return;
      const now = current.current, length = node.dimensions[playing].length, next = { ...now, fixed: { ...now.fixed, [playing]: ((now.fixed[playing] ?? 0) + 1) % length } };
      const planned = plan(node, next, next.view ?? fullView(node, next), frame.clientWidth, frame.clientHeight, nature === "rgb");
      readWindow({ at, path: planned.path, select: planned.select, type: "f4", part: now.part }).catch(() => {});
    };
    let began = performance.now();
    requestAnimationFrame(tick);
    return () => { here = false; };
  }, [playing, node]);

  const zoom = (factor: number) => { if (!node || !isPicture) return; const view = state.view ?? fullView(node, state), [cx, cy] = [(view[0] + view[2]) / 2, (view[1] + view[3]) / 2]; change({ view: limit([cx - (cx - view[0]) * factor, cy - (cy - view[1]) * factor, cx + (view[2] - cx) * factor, cy + (view[3] - cy) * factor], fullView(node, state)) }); };
  const move = (dx: number, dy: number) => { if (!node || !isPicture) return; const view = state.view ?? fullView(node, state), [w, h] = [view[2] - view[0], view[3] - view[1]]; change({ view: limit([view[0] + dx * w, view[1] + dy * h, view[2] + dx * w, view[3] + dy * h], fullView(node, state)) }, true); };
  const viewSelect = () => {
    if (!node || !isPicture) return node ? node.dimensions.map((_, n) => (n === (node.nature === "line" ? 0 : node.dimensions.length - 1) || node.nature === "table" ? ":" : String(state.fixed[n] ?? 0))).join(", ") || "..." : "...";
    const [x, y] = axes(node, state), view = state.view ?? fullView(node, state);
    return selectionText(node, state, { [x]: `${Math.floor(view[0])}:${Math.ceil(view[2])}`, [y]: `${Math.floor(view[1])}:${Math.ceil(view[3])}`, ...(nature === "rgb" ? { [channelDimension(node)!]: ":" } : {}) });
  };
  const savePicture = () => {
    const canvases = [...document.querySelectorAll<HTMLCanvasElement>(".stage canvas")], stage = document.querySelector<HTMLElement>(".stage");
    if (!stage || !canvases.length) return;
    const copy = document.createElement("canvas"), box = stage.getBoundingClientRect(), context = copy.getContext("2d")!;
    [copy.width, copy.height] = [Math.round(box.width), Math.round(box.height)];
    context.imageSmoothingEnabled = false;
    for (const each of canvases.slice(0, 2)) { const place = each.getBoundingClientRect(); context.drawImage(each, place.left - box.left, place.top - box.top, place.width, place.height); }
    copy.toBlob((blob) => blob && save(blob, `${state.path.split("/").at(-1) || "picture"}.png`));
  };
  const exportAs = (form: "csv" | "npy") => download({ at, path: state.path, select: viewSelect(), format: form }, `${state.path.split("/").at(-1) || "array"}.${form}`).catch((error) => setProblem(error));
  const texts = (): [string, string][] => {
    const place = site?.locations[at]?.location ?? "", select = viewSelect(), inner = state.path;
    const named = node?.dimensions.every((each) => each.name) ? node.dimensions.map((each, n) => { const part = select.split(", ")[n]; return `${each.name}=${part?.includes(":") ? `slice(${part.split(":").map((text) => text || "None").join(", ")})` : part}`; }).join(", ") : "";
    return [
      ["Python", `import omnizarr\n\nz = omnizarr.open(${quote(place)}, mode="r")${inner ? `[${quote(inner)}]` : ""}\nvalues = z[${select}]`],
      ["xarray", named && inner ? `import xarray\n\nds = xarray.open_dataset(${quote(place)}, engine="omnizarr"${inner.includes("/") ? `, group=${quote(inner.split("/").slice(0, -1).join("/"))}` : ""})\nvalues = ds[${quote(inner.split("/").at(-1)!)}].isel(${named})` : "# the dimensions of this array have no names"],
      ["command line", `omnizarr cat '${`${place}${inner ? `/${inner}` : ""}`.replaceAll("'", "'\\''")}[${select}]'`],
    ];
  };
  const nextArray = () => { const nodes = [...document.querySelectorAll<HTMLButtonElement>("button.node.array")], place = nodes.findIndex((each) => each.dataset.path === state.path); nodes[(place + 1) % nodes.length]?.click(); };
  const movePoint = (dx: number, dy: number) => { // the chosen element, first the one in the middle
    if (!node || node.nature === "table" || !node.dimensions.length) return;
    const [x, y] = node.dimensions.length > 1 ? axes(node, state) : [0, -1], view = isPicture ? state.view ?? fullView(node, state) : [0, 0, node.dimensions[x].length, 1];
    const old = state.point?.length === node.dimensions.length ? state.point : null;
    choose(old ? old[x] + dx : (view[0] + view[2]) / 2, old && y >= 0 ? old[y] + dy : (view[1] + view[3]) / 2, old !== null);
  };
  const nextPart = () => {
    const parts = node?.complex ? ["", "phase", "real", "imaginary"] : node?.fields ?? [];
    if (parts.length) change({ part: parts[(parts.indexOf(state.part || parts[0]) + 1) % parts.length], low: null, high: null });
  };
  const nextSlider = () => { const all = [...document.querySelectorAll<HTMLInputElement>(".slider input[type=range]")]; all[(all.indexOf(document.activeElement as HTMLInputElement) + 1) % all.length]?.focus(); };
  const inTree = (from: HTMLElement, key: string): boolean => {
    const all = [...document.querySelectorAll<HTMLButtonElement>("button.node:not(:disabled)")], place = all.indexOf(from as HTMLButtonElement), opened = from.closest("li")?.getAttribute("aria-expanded");
    if (key === "ArrowDown" || key === "ArrowUp") all[place + (key === "ArrowDown" ? 1 : -1)]?.focus();
    else if ((key === "ArrowRight" && opened === "false") || (key === "ArrowLeft" && opened === "true")) from.click();
    else return false;
    return true;
  };
  const onKey = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && event.key !== "Escape" && (target as HTMLInputElement).type !== "range" && (target as HTMLInputElement).type !== "checkbox")) return;
    const cycle = <T,>(list: T[], value: T) => list[(list.indexOf(value) + 1) % list.length];
    const actions: Record<string, () => void> = {
      "?": () => setDialog("help"), Escape: () => { setDialog(""); setPlaying(null); (document.activeElement as HTMLElement)?.blur(); }, "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), "0": () => change({ view: null }),
      ArrowLeft: () => move(-0.2, 0), ArrowRight: () => move(0.2, 0), ArrowUp: () => move(0, -0.2), ArrowDown: () => move(0, 0.2), "[": () => step(-1), "]": () => step(1),
      " ": () => { if (!node) return; const pair = node.dimensions.length > 1 ? axes(node, state) : [0]; const first = node.dimensions.findIndex((_, n) => !pair.includes(n)); setPlaying(playing === null && first >= 0 ? first : null); },
      c: () => change({ grid: !state.grid }), o: () => change({ coast: !state.coast }), m: () => change({ map: cycle(mapNames, state.map) }), r: () => change({ reverse: !state.reverse }), l: () => change({ log: !state.log }), a: () => change({ low: null, high: null }),
      x: () => { if (node && node.dimensions.length > 1) { const [x, y] = axes(node, state); change({ x: y, y: x, view: null }); } }, g: () => change({ mode: cycle(modes, state.mode) }),
      d: () => { if (site && site.locations.length > 1) change({ compare: cycle(["off", "side", "difference"] as State["compare"][], state.compare), low: null, high: null }); }, t: () => change({ theme: dark ? "light" : "dark" }),
      "1": () => change({ tab: "about" }), "2": () => change({ tab: "attributes" }), "3": () => change({ tab: "document" }), "4": () => change({ tab: "cost" }), "/": () => document.querySelector<HTMLInputElement>(".filter")?.focus(),
      f: () => document.querySelector<HTMLElement>(".handle.low")?.focus(), s: nextSlider, i: nextPart, e: () => (document.querySelector<HTMLElement>("button.node.selected") ?? document.querySelector<HTMLElement>("button.node"))?.focus(),
      w: () => { change({ tab: "about" }); setTimeout(() => document.querySelector<HTMLElement>(".whole")?.click()); },
      Enter: () => movePoint(0, 0), y: () => { if (!state.point) movePoint(0, 0); else if (node && isPicture) change({ along: ((state.along ?? -1) + 1) % node.dimensions.length }); }, Backspace: () => change({ point: null, along: null }),
      n: nextArray, p: savePicture, v: () => exportAs("csv"), b: () => exportAs("npy"), k: () => setDialog("copy"),
    };
    if ((target as HTMLInputElement).type === "range" && event.key.startsWith("Arrow")) return;
    if (target.tagName === "BUTTON" && (event.key === " " || event.key === "Enter")) return;
    if (dialog && event.key !== "Escape") return;
    const rows = nature === "table" && node ? tableStep(node, state, event.key) : null, shift = event.shiftKey && { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (target.classList.contains("node") && inTree(target, event.key)) { event.preventDefault(); return; }
    if (rows || shift) { event.preventDefault(); if (rows) change(rows, true); else if (shift) movePoint(shift[0], shift[1]); return; }
    const action = actions[event.key];
    if (action) { event.preventDefault(); action(); }
  };
  const keys = useRef(onKey);
  keys.current = onKey;
  useEffect(() => { const listen = (event: KeyboardEvent) => keys.current(event); addEventListener("keydown", listen); return () => removeEventListener("keydown", listen); }, []);

  const choose = (cx: number, cy: number, quiet = false) => {
    if (!node) return;
    const [x, y] = node.dimensions.length > 1 ? axes(node, state) : [0, -1], indices = node.dimensions.map((each, n) => Math.max(0, Math.min(each.length - 1, n === x ? Math.floor(cx) : n === y ? Math.floor(cy) : state.fixed[n] ?? 0)));
    change({ point: indices, along: state.along ?? (node.dimensions.length < 2 ? null : node.dimensions.findIndex((_, n) => n !== x && n !== y)) }, quiet);
  };
  useEffect(() => {
    setPoint(null);
    if (!node || !state.point || state.point.length !== node.dimensions.length) return;
    const indices = state.point.map((index, n) => (isPicture && !axes(node, state).includes(n) ? state.fixed[n] ?? index : index));
    const place = indices.map((index, n) => `${dimensionName(node, n)} ${coordinate(coordinates[n], index) ?? index}`).join(", ");
    askConfirmed("table", { at, path: state.path, select: indices.join(",") }).then((answer) => { const cell = answer.cells[0]; setPoint({ value: Array.isArray(cell) ? cell.map((text, n) => `${answer.fields[n]}: ${text}`).join(", ") : cell, place }); }, (error) => setPoint({ value: error.message, place }));
  }, [node, JSON.stringify(state.point), JSON.stringify(state.fixed), coordinates]);

  const onRefused = (error: any, select: string) => {
    if (error?.cost && node && !current.current.view && !current.current.point && confirmed !== select && !refused) { // begin with a part that costs little
      const whole = fullView(node, state), side = 512, cx = whole[2] / 2, cy = whole[3] / 2;
      const part = limit([cx - side / 2, cy - side / 2, cx + side / 2, cy + side / 2], whole);
      if (part) { setRefused({ error, select, whole: true }); change({ view: part }, true); return; }
    }
    setRefused((before) => (error ? { error, select } : before?.whole ? before : null)); // the part that is drawn is no answer to the question for the whole
  };
  const picture = (place: number, view: NodeView, title: string) => (
    <Picture key={`${place}/${state.path}`} node={view} other={other} state={state} at={place} change={change} look={look} rgb={nature === "rgb"} difference={differs} coordinates={coordinates} confirmed={confirmed} title={title}
      onShown={(now) => { if (place === at) { shown.current = now; if (differs) { setFacts({ ...now.win.facts, ...summary(now.values.data) }); } else setFacts(now.win.facts); document.documentElement.dataset.ready ??= String(performance.now()); } }}
      onRefused={onRefused} onPoint={choose}
      onHover={(cx, cy, value) => { const [x, y] = axes(view, state), i = Math.floor(cx), j = Math.floor(cy); setHover(`${dimensionName(view, x)} ${coordinate(coordinates[x], i) ?? i}, ${dimensionName(view, y)} ${coordinate(coordinates[y], j) ?? j}${value === null ? "" : `: ${number(value)}`}`); }} />
  );

  // Kept from one picture to the next: a group may have thousands of members.
  const branches = useMemo(() => <div class="branches">{site?.locations.map((each, n) => <section key={n}><button class={`node root ${n === at && !state.path ? "selected" : ""}`} data-path="" title={each.location} onClick={() => open("", n)}><span class="mark">◆</span><span class="name">{each.name}</span></button>{each.kind === "group" && <Branch at={n} path="" selected={n === at ? state.path : "\0"} filter={filter} open={(path) => open(path, n)} depth={0} />}</section>)}</div>, [site, at, state.path, filter]);

  if (!token) return <div class="start"><h1>omnizarr</h1><p>The viewer needs a token: open the address that the program printed.</p><p>Stored values are below <code>/data</code>; the same as plain Zarr is below <code>/as/v3</code> and <code>/as/v2</code>.</p></div>;
  return (
    <div class="page">
      <aside class="tree">
        <header><b>omnizarr</b><button title="keys (?)" onClick={() => setDialog("help")}>?</button><button title="light or dark (t)" onClick={() => change({ theme: dark ? "light" : "dark" })}>◐</button></header>
        <input class="filter" type="search" placeholder="filter (/)" aria-label="filter" value={filter} onInput={(event) => setFilter((event.target as HTMLInputElement).value)} />
        {branches}
      </aside>
      <main>
        <div class="bar">
          <span class="title">{state.path || "/"}</span>
          {node && node.info.node_type === "array" && <>
            {isPicture && <Axes node={node} state={state} change={change} />}
            <select aria-label="way to draw" value={modes.includes(state.mode) ? state.mode : "auto"} onChange={(event) => change({ mode: (event.target as HTMLSelectElement).value as State["mode"] })}>{modes.map((mode) => <option>{mode}</option>)}</select>
            {node.complex && <select aria-label="part" value={state.part || "magnitude"} onChange={(event) => change({ part: (event.target as HTMLSelectElement).value, low: null, high: null })}>{["magnitude", "phase", "real", "imaginary"].map((part) => <option>{part}</option>)}</select>}
            {node.fields && (isPicture || nature === "line") && <select aria-label="field" value={state.part || node.fields[0]} onChange={(event) => change({ part: (event.target as HTMLSelectElement).value, low: null, high: null })}>{node.fields.map((part) => <option>{part}</option>)}</select>}
            {site && site.locations.length > 1 && <select aria-label="compare" value={state.compare} onChange={(event) => change({ compare: (event.target as HTMLSelectElement).value as State["compare"], low: null, high: null })}><option value="off">one</option><option value="side">side by side</option><option value="difference">difference</option></select>}
            <button onClick={savePicture} title="p">PNG</button><button onClick={() => exportAs("csv")} title="v">CSV</button><button onClick={() => exportAs("npy")} title="b">NPY</button><button onClick={() => setDialog("copy")} title="copy as Python, xarray or command line (k)">copy</button>
          </>}
        </div>
        <div class={`content ${nature}`} data-place={node || problem ? `${at}/${state.path}` : ""}>
          {problem && <div class="problem large" data-drawn="1"><p>{problem.message}</p>{problem.hint && <p class="note">{problem.hint}</p>}{problem.problems?.map((text: string) => <p>{text}</p>)}</div>}
          {!node && !problem && <div class="waiting">reading …</div>}
          {node && !problem && nature === "group" && <Overview node={node} at={at} path={state.path} name={site?.locations[at]?.name ?? ""} open={(path) => open(path, at)} />}
          {node && nature === "table" && <Table key={state.path} node={node} state={state}  at={at} change={change} coordinates={coordinates} />}
          {node && nature === "line" && node.dimensions.length > 0 && <Line node={node} state={state} at={at} others={state.compare !== "off" && other ? [1 - at] : []} dimension={node.nature === "line" ? 0 : state.along ?? node.dimensions.length - 1} coordinates={coordinates[node.nature === "line" ? 0 : state.along ?? node.dimensions.length - 1]} dark={dark} height={0} onFacts={setFacts} onPick={(index) => change({ point: node.dimensions.map((_, n) => (n === (node.nature === "line" ? 0 : state.along ?? node.dimensions.length - 1) ? index : state.fixed[n] ?? 0)) })} />}
          {node && isPicture && node.dimensions.length > 1 && <div class="pictures">{picture(at, node, comparing ? (state.compare === "difference" ? "first − second" : site!.locations[at].name) : "")}{comparing && state.compare === "side" && picture(1 - at, other!, site!.locations[1 - at].name)}</div>}
          {refused && <div class="ask" role="alertdialog">{refused.error.cost ? <><p>The {state.view ? "view" : "whole picture"} would read {bytes(refused.error.cost.stored_bytes)} in {refused.error.cost.chunks} chunks.</p><button class="confirm" onClick={() => { setConfirmed(refused.select); setRefused(null); if (!current.current.view) return; change({ view: null }); }}>read it</button><button onClick={() => setRefused(null)}>no</button></> : <p class="problem">{refused.error.message}{refused.error.hint && ` ${refused.error.hint}`}</p>}</div>}
        </div>
        {node && isPicture && nature !== "labels" && !(nature === "rgb" && node.info.type === "uint8") && <div class="bar low"><Colours state={state} change={change} sample={differs ? facts as any : sample} low={low} high={high} map={look.map} /></div>}
        {node && <Sliders node={node} state={state} change={change} coordinates={coordinates} playing={playing} play={setPlaying} mode={nature} />}
        {node && point && <div class="point"><span class="found"><b>{point.value}</b> at {point.place}</span>
          {isPicture && node.dimensions.map((_, n) => <button class={state.along === n ? "selected" : ""} onClick={() => change({ along: n })}>along {dimensionName(node, n)}</button>)}<button onClick={() => change({ point: null, along: null })}>✕</button>
          {isPicture && state.along !== null && state.along >= 0 && <Line node={node} state={state} at={at} others={comparing ? [1 - at] : []} dimension={state.along} coordinates={coordinates[state.along]} dark={dark} height={170} onPick={(index) => change({ fixed: { ...state.fixed, [state.along!]: index } })} />}</div>}
        <footer><span class="hover">{hover}</span>{facts && <span class="read">{`this view read ${bytes(facts.bytes_read)} to show ${bytes(facts.shown_bytes)}, ${facts.chunks} chunk${facts.chunks === 1 ? "" : "s"}, ${Math.round(facts.seconds * 1000)} ms`}{shown.current && node?.levels.length ? `, level ${shown.current.level}` : ""}</span>}</footer>
      </main>
      {node && <Panel node={node} tab={state.tab} facts={facts} at={at} path={state.path} setTab={(tab) => change({ tab })} statistics={() => askConfirmed("statistics", { at, path: state.path, select: isPicture ? selectionText(node, state, Object.fromEntries(axes(node, state).map((n) => [n, ":"]))) : "..." })} />}
      {dialog === "help" && <Help close={() => setDialog("")} />}
      {dialog === "copy" && <CopyAs texts={texts()} close={() => setDialog("")} />}
    </div>
  );
}
export { Refused };
