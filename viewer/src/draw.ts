// Colours values: one WebGL2 shader, or a loop over pixels where there is no WebGL.
import { labelColour, table } from "./colours";

export interface Look {
  low: number; high: number; log: boolean; map: string; reverse: boolean; labels: boolean; fill: number | null; dark: boolean;
}
export interface Values { width: number; height: number; data: ArrayLike<number> & { length: number } }

const VERTEX = `#version 300 es
void main() { vec2 p = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2); gl_Position = vec4(p * 2.0 - 1.0, 0.0, 1.0); }`;
const FRAGMENT = `#version 300 es
precision highp float; precision highp int; precision highp sampler2D;
uniform sampler2D values; uniform sampler2D colours; uniform vec2 size; uniform float low, high, fill, missing; uniform bool isLog, isLabels, hasFill;
out vec4 colour;
void main() {
  ivec2 extent = textureSize(values, 0);
  ivec2 place = ivec2(vec2(gl_FragCoord.x, size.y - gl_FragCoord.y) / size * vec2(extent));
  float value = texelFetch(values, clamp(place, ivec2(0), extent - 1), 0).r;
  uint bits = floatBitsToUint(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) {
    bool stripe = mod(gl_FragCoord.x + gl_FragCoord.y, 8.0) < 2.0;
    colour = vec4(vec3(missing + (stripe ? 0.12 : 0.0)), 1.0); return;
  }
  if (isLabels) {
    int label = int(value);
    if (label == 0) { colour = vec4(0.0, 0.0, 0.0, 1.0); return; }
    uint h = uint(label); h = (h ^ (h >> 16)) * 0x45d9f3bu; h = (h ^ (h >> 16)) * 0x45d9f3bu; h ^= h >> 16;
    float hue = float(h & 1023u) / 1024.0, saturation = 0.5 + float((h >> 10) & 255u) / 550.0, bright = 0.75 + float((h >> 18) & 255u) / 1020.0;
    vec3 ramp = clamp(abs(fract(hue + 1.0 - vec3(0.0, 1.0 / 3.0, 2.0 / 3.0)) * 6.0 - 3.0) - 1.0, 0.0, 1.0);
    colour = vec4(bright * (1.0 - saturation * (1.0 - ramp)), 1.0); return;
  }
  if (hasFill && value == fill) { colour = vec4(vec3(missing * 0.8), 1.0); return; }
  float t = isLog ? (log(max(value, 1e-38)) - log(low)) / (log(high) - log(low)) : (value - low) / (high - low);
  colour = texture(colours, vec2(clamp(t, 0.0, 1.0) * 255.0 / 256.0 + 0.5 / 256.0, 0.5));
}`;

export class Painter {
  private gl: WebGL2RenderingContext | null = null;
  private program: WebGLProgram | null = null;
  readonly canvas: HTMLCanvasElement;
  private last: Values | null = null;
  kind: "webgl" | "canvas" = "canvas";

  constructor(canvas: HTMLCanvasElement, allowed = true) {
    this.canvas = canvas;
    const gl = allowed ? canvas.getContext("webgl2", { preserveDrawingBuffer: true, antialias: false }) : null;
    if (gl) this.start(gl);
  }

  private start(gl: WebGL2RenderingContext): void {
    const program = gl.createProgram()!;
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return;
    gl.useProgram(program);
    for (const [unit, name] of [[0, "values"], [1, "colours"]] as const) {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
      for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
      gl.uniform1i(gl.getUniformLocation(program, name), unit);
    }
    [this.gl, this.program, this.kind] = [gl, program, "webgl"];
  }

  draw(values: Values, look: Look): void {
    if (this.gl && this.program && values.width <= 8192 && values.height <= 8192) this.drawGl(values, look);
    else this.drawPixels(values, look);
  }

  private drawGl(values: Values, look: Look): void {
    const gl = this.gl!, at = (name: string) => gl.getUniformLocation(this.program!, name);
    if (values !== this.last) {
      gl.activeTexture(gl.TEXTURE0);
      const data = values.data instanceof Float32Array ? values.data : Float32Array.from(values.data);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, values.width, values.height, 0, gl.RED, gl.FLOAT, data);
      this.last = values;
    }
    gl.activeTexture(gl.TEXTURE1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, table(look.map, look.reverse));
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.uniform2f(at("size"), this.canvas.width, this.canvas.height);
    gl.uniform1f(at("low"), look.low);
    gl.uniform1f(at("high"), look.high);
    gl.uniform1f(at("fill"), look.fill ?? 0);
    gl.uniform1f(at("missing"), look.dark ? 0.25 : 0.8);
    gl.uniform1i(at("isLog"), look.log ? 1 : 0);
    gl.uniform1i(at("isLabels"), look.labels ? 1 : 0);
    gl.uniform1i(at("hasFill"), look.fill === null ? 0 : 1);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  private drawPixels(values: Values, look: Look): void {
    this.put(colourPixels(values, look), values.width, values.height);
  }

  // Draws ready pixels, scaled to the canvas without smoothing. Only for a painter without WebGL.
  put(pixels: Uint8ClampedArray, width: number, height: number): void {
    const context = this.canvas.getContext("2d");
    if (context) blit(context, pixels, width, height, this.canvas);
  }
}

function blit(context: CanvasRenderingContext2D, pixels: Uint8ClampedArray, width: number, height: number, target: HTMLCanvasElement): void {
  const small = document.createElement("canvas");
  [small.width, small.height] = [width, height];
  small.getContext("2d")!.putImageData(new ImageData(pixels as any, width, height), 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, target.width, target.height);
}

export function colourPixels(values: Values, look: Look): Uint8ClampedArray {
  const pixels = new Uint8ClampedArray(values.width * values.height * 4), colours = table(look.map, look.reverse);
  const missing = look.dark ? 64 : 204, least = look.log ? Math.log(look.low) : look.low, most = look.log ? Math.log(look.high) : look.high;
  for (let n = 0; n < values.width * values.height; n++) {
    const value = values.data[n];
    let colour: ArrayLike<number>;
    if (!Number.isFinite(value)) {
      const stripe = ((n % values.width) + Math.floor(n / values.width)) % 8 < 2 ? 30 : 0;
      colour = [missing + stripe, missing + stripe, missing + stripe];
    } else if (look.labels) colour = labelColour(value);
    else if (look.fill !== null && value === look.fill) colour = [missing * 0.8, missing * 0.8, missing * 0.8];
    else {
      const t = ((look.log ? Math.log(Math.max(value, 1e-38)) : value) - least) / (most - least);
      const place = Math.max(0, Math.min(255, Math.round(t * 255))) * 4;
      colour = colours.subarray(place, place + 3);
    }
    pixels.set([colour[0], colour[1], colour[2], 255], n * 4);
  }
  return pixels;
}
