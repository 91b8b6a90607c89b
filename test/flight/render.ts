/** Renders a flight to frames (I420) and clips. The ground is ray-cast, cars are sprites; the camera must not see the sky. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { keepFile } from "../kept-files.fixture.ts";
import { axesOf, focalOf, type Lens, type Pose, project } from "./camera.ts";
import { type Ground, makeCar, makeGround, type Sprite } from "./textures.ts";
import { FLIGHT, type Flight, frameCount, listTargets, placeAt, poseAt, type Target } from "./world.ts";

type Triple = [number, number, number];

export class Renderer {
  readonly #lens: Lens;
  readonly #ground: Ground = makeGround();
  readonly #targets: readonly Target[];
  readonly #sprites = new Map<string, Sprite>();
  readonly #frame: Uint8Array;

  constructor(lens: Lens, targets = listTargets()) {
    this.#lens = lens;
    this.#targets = targets;
    this.#frame = new Uint8Array((lens.width * lens.height * 3) / 2);
  }

  /** The returned bytes are valid until the next call. */
  render(pose: Pose, seconds: number): Uint8Array {
    this.#paintGround(pose, 1);
    this.#paintGround(pose, 2);
    const seen = this.#targets
      .map((target) => ({ target, pixel: project(placeAt(target, seconds), pose, this.#lens) }))
      .sort((a, b) => (b.pixel?.depth ?? 0) - (a.pixel?.depth ?? 0));
    for (const { target, pixel } of seen) if (pixel !== null) this.#put(target, pixel.x, pixel.y, pixel.depth);
    return this.#frame;
  }

  /** Luma of every pixel, or chroma of every second one. Without function calls in the inner loop: it runs for 100 million pixels. */
  #paintGround(pose: Pose, step: 1 | 2): void {
    const { width, height } = this.#lens;
    const { right, up, forward } = axesOf(pose);
    const pixel = 1 / focalOf(this.#lens);
    const { size, texelsPerM, y: luma, u, v } = this.#ground;
    const mask = size - 1;
    const frame = this.#frame;
    const [columns, rows] = [width / step, height / step];
    const [blue, red] = [width * height, width * height * 1.25];
    const reach = -pose.at[2] * texelsPerM;
    const [east, north] = [pose.at[0] * texelsPerM - 0.5, pose.at[1] * texelsPerM - 0.5];
    const [rightE, rightN, rightU] = right;
    for (let row = 0; row < rows; row++) {
      const upward = (height / 2 - (row + 0.5) * step) * pixel;
      const [e0, n0, u0] = [0, 1, 2].map((axis) => (forward[axis] ?? 0) + upward * (up[axis] ?? 0)) as Triple;
      for (let column = 0; column < columns; column++) {
        const side = ((column + 0.5) * step - width / 2) * pixel;
        const scale = reach / (u0 + side * rightU);
        const e = east + scale * (e0 + side * rightE);
        const n = north + scale * (n0 + side * rightN);
        const left = Math.floor(e) | 0;
        const top = Math.floor(n) | 0;
        const x = left & mask;
        const y = (top & mask) * size;
        const at = row * columns + column;
        if (step === 2) {
          frame[blue + at] = u[y + x] as number;
          frame[red + at] = v[y + x] as number;
          continue;
        }
        const x2 = (left + 1) & mask;
        const y2 = ((top + 1) & mask) * size;
        const along = e - left;
        const upper = (luma[y + x] as number) * (1 - along) + (luma[y + x2] as number) * along;
        const lower = (luma[y2 + x] as number) * (1 - along) + (luma[y2 + x2] as number) * along;
        frame[at] = upper + (lower - upper) * (n - top) + 0.5;
      }
    }
  }

  #spriteOf({ colour, speed }: Target): Sprite {
    const flip = speed < 0 ? -1 : 1;
    const key = `${colour} ${flip}`;
    const known = this.#sprites.get(key) ?? makeCar(colour, flip);
    this.#sprites.set(key, known);
    return known;
  }

  #put(target: Target, x: number, y: number, depth: number): void {
    const { width, height } = this.#lens;
    const sprite = this.#spriteOf(target);
    const perPixel = sprite.length / ((target.length * focalOf(this.#lens)) / depth);
    const frame = this.#frame;
    const size = width * height;
    const planes = [
      { from: sprite.y, start: 0, step: 1 },
      { from: sprite.u, start: size, step: 2 },
      { from: sprite.v, start: size * 1.25, step: 2 },
    ] as const;
    for (const { from, start, step } of planes) {
      const wide = width / step;
      const left = Math.max(0, Math.floor((x - sprite.footX / perPixel) / step));
      const right = Math.min(wide, Math.ceil((x + (sprite.width - sprite.footX) / perPixel) / step));
      const top = Math.max(0, Math.floor((y - sprite.footY / perPixel) / step));
      const bottom = Math.min(height / step, Math.ceil((y + (sprite.height - sprite.footY) / perPixel) / step));
      for (let row = top; row < bottom; row++) {
        const sy = sprite.footY + ((row + 0.5) * step - y) * perPixel - 0.5;
        for (let column = left; column < right; column++) {
          const sx = sprite.footX + ((column + 0.5) * step - x) * perPixel - 0.5;
          const share = sample(sprite.opacity, sprite, sx, sy);
          if (share <= 0) continue;
          const at = start + row * wide + column;
          frame[at] = (frame[at] ?? 0) * (1 - share) + sample(from, sprite, sx, sy) + 0.5;
        }
      }
    }
  }
}

/** Bilinear interpolation; 0 outside. */
function sample(plane: Float32Array, { width, height }: Sprite, x: number, y: number): number {
  const left = Math.floor(x);
  const top = Math.floor(y);
  if (left < 0 || top < 0 || left + 1 >= width || top + 1 >= height) return 0;
  const along = x - left;
  const down = y - top;
  const at = top * width + left;
  const upper = (plane[at] as number) * (1 - along) + (plane[at + 1] as number) * along;
  const lower = (plane[at + width] as number) * (1 - along) + (plane[at + width + 1] as number) * along;
  return upper * (1 - down) + lower * down;
}

export interface Shot {
  readonly flight: Flight;
  readonly lens: Lens;
  readonly fps: number;
}

export const LENS: Lens = { width: 960, height: 540, hfov: 20 };
export const FPS = 15;

/** The clip that the service detects on. Long enough for slow machines: the flight ends after enough positions. */
export const SERVICE_SHOT: Shot = {
  flight: { ...FLIGHT, seconds: 30 },
  lens: { ...LENS, width: 640, height: 360 },
  fps: FPS,
};

const CODED = "-c:v libx264 -preset ultrafast -crf 18 -g 15 -bf 0 -pix_fmt yuv420p -movflags +faststart";
/** Small pictures stand for the code that renders them. */
const SAMPLE = { width: 128, height: 72, everySeconds: 5 } as const;

/** The clip of `writeMp4` among the kept files: do not change it. */
export function keepMp4(shot: Shot): Promise<string> {
  const { flight, lens } = shot;
  const renderer = new Renderer({ ...lens, width: SAMPLE.width, height: SAMPLE.height });
  const digest = createHash("sha256");
  for (let seconds = 0; seconds < flight.seconds; seconds += SAMPLE.everySeconds)
    digest.update(renderer.render(poseAt(flight, seconds), seconds));
  const words = ["flight", JSON.stringify(shot), digest.digest("hex"), CODED, "mp4"];
  return keepFile(words, (path) => writeMp4(path, shot));
}

export async function writeMp4(file: string, { flight, lens, fps }: Shot): Promise<void> {
  const input = `-f rawvideo -pix_fmt yuv420p -s ${lens.width}x${lens.height} -r ${fps} -i -`;
  const words = `-hide_banner -loglevel error -y ${input} ${CODED}`.split(" ");
  const coder = spawn("ffmpeg", [...words, file], { stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  coder.stderr.on("data", (data) => (errors += data));
  const ended = once(coder, "close");
  let fault: Error | null = null;
  coder.stdin.on("error", (error) => (fault ??= error));
  for (const frame of eachFrame({ flight, lens, fps })) {
    if (fault !== null) break;
    // A copy: the renderer reuses its buffer.
    if (!coder.stdin.write(Buffer.from(frame))) await Promise.race([once(coder.stdin, "drain"), ended]);
  }
  coder.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`ffmpeg could not write ${file}: ${errors.trim() || fault}`);
}

function* eachFrame({ flight, lens, fps }: Shot): Generator<Uint8Array> {
  const renderer = new Renderer(lens);
  for (let index = 0; index < frameCount(flight, fps); index++)
    yield renderer.render(poseAt(flight, index / fps), index / fps);
}
