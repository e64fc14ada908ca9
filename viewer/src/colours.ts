// Colour maps as tables of 256 colours, and random colours for labels.
import * as d3 from "d3-scale-chromatic";

const maps: Record<string, (t: number) => string> = {
  viridis: d3.interpolateViridis, magma: d3.interpolateMagma, inferno: d3.interpolateInferno, plasma: d3.interpolatePlasma,
  cividis: d3.interpolateCividis, turbo: d3.interpolateTurbo, greys: (t) => d3.interpolateGreys(1 - t), blues: d3.interpolateBlues,
  "yellow–green–blue": d3.interpolateYlGnBu, "red–blue": d3.interpolateRdBu, "purple–orange": d3.interpolatePuOr, spectral: d3.interpolateSpectral,
  rainbow: d3.interpolateSinebow,
};
export const mapNames = Object.keys(maps);

const tables = new Map<string, Uint8Array>();

export function table(name: string, reverse: boolean): Uint8Array {
  const key = `${name}/${reverse}`;
  let colours = tables.get(key);
  if (!colours) {
    colours = new Uint8Array(256 * 4);
    const map = maps[name] ?? maps.viridis;
    for (let n = 0; n < 256; n++) {
      const [r, g, b] = rgb(map((reverse ? 255 - n : n) / 255));
      colours.set([r, g, b, 255], n * 4);
    }
    tables.set(key, colours);
  }
  return colours;
}

function rgb(text: string): [number, number, number] {
  if (text.startsWith("#")) return [1, 3, 5].map((n) => parseInt(text.slice(n, n + 2), 16)) as [number, number, number];
  return text.match(/[\d.]+/g)!.slice(0, 3).map(Number) as [number, number, number];
}

// The same in the shader: a label always gets the same colour.
export function labelColour(label: number): [number, number, number] {
  if (label === 0) return [0, 0, 0];
  let bits = Math.imul(label ^ (label >>> 16), 0x45d9f3b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x45d9f3b);
  bits ^= bits >>> 16;
  const hue = (bits & 1023) / 1024, saturation = 0.5 + ((bits >>> 10) & 255) / 550, value = 0.75 + ((bits >>> 18) & 255) / 1020;
  return [0, 1 / 3, 2 / 3].map((shift) => {
    const ramp = Math.min(1, Math.max(0, Math.abs(((hue + 1 - shift) % 1) * 6 - 3) - 1));
    return 255 * value * (1 - saturation * (1 - ramp));
  }) as [number, number, number];
}
