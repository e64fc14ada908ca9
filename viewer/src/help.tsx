// The keys of the page, and the dialogs.
import { useEffect, useRef } from "preact/hooks";

export const KEYS: [string, string][] = [
  ["← → ↑ ↓", "move the picture"], ["+ −", "zoom in, zoom out"], ["0", "show all"], ["[ ]", "one step along the first slider"],
  ["space", "animate the first slider"], ["c", "chunks, shards and absent chunks"], ["o", "coast lines"], ["m", "next colour map"], ["r", "reverse the colours"],
  ["l", "linear or logarithmic"], ["a", "limits from 2 to 98 %"], ["x", "exchange the two dimensions"], ["g", "next way to draw: picture, line, table, labels"],
  ["d", "compare: off, side by side, difference"], ["1 2 3 4", "panel: about, attributes, document, cost"], ["/", "filter the tree"],
  ["n", "next array"], ["p", "save the picture as PNG"], ["v", "save the shown part as CSV"], ["b", "save the shown part as NPY"], ["k", "copy as Python, xarray or command line"],
  ["Enter", "choose the element in the middle"], ["Shift ← → ↑ ↓", "move the chosen element"], ["y", "the line through it along the next dimension"], ["Backspace", "forget it"],
  ["f", "change the limits: arrows; Tab: the other one; Home: 2–98 %"], ["s", "next slider: arrows move it"], ["i", "next part of complex numbers, or field of records"], ["w", "statistics of the whole slice"],
  ["↑ ↓ Page Home End", "rows of a table"], ["← →", "columns of a table"], ["e", "the tree: arrows move, open and close; Enter chooses"],
  ["t", "light or dark"], ["Esc", "close, or stop the animation"], ["?", "this help"],
];

export function Help({ close }: { close: () => void }) {
  return (
    <div class="dialog" role="dialog" aria-modal="true" aria-label="keys" onClick={close}>
      <div class="sheet wide" onClick={(event) => event.stopPropagation()}>
        <h2>Keys</h2>
        <dl>{KEYS.map(([key, text]) => <><dt><kbd>{key}</kbd></dt><dd>{text}</dd></>)}</dl>
        <p class="note">Wheel: zoom. Drag: move. Click: value, coordinates and lines. The address of the page is its state: bookmark or send it.</p>
        <Close close={close} />
      </div>
    </div>
  );
}

function Close({ close }: { close: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  return <button ref={button} onClick={close}>close</button>;
}

export function CopyAs({ texts, close }: { texts: [string, string][]; close: () => void }) {
  return (
    <div class="dialog" role="dialog" aria-modal="true" aria-label="copy as" onClick={close}>
      <div class="sheet" onClick={(event) => event.stopPropagation()}>
        <h2>Copy as</h2>
        {texts.map(([name, text]) => <section><h3>{name}</h3><pre class="code">{text}</pre><button onClick={() => navigator.clipboard?.writeText(text)}>copy</button></section>)}
        <Close close={close} />
      </div>
    </div>
  );
}
