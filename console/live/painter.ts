/** Shows pictures with what was found in them on a canvas. */
import { drawBoxes } from "./draw-boxes.ts";
import type { Pair } from "./pairing.ts";

const MOST_PIXELS_WIDE = 3840;

/** One picture at a time; while one is being decoded, the latest of those that come waits and the others are left out. */
export class Painter {
  readonly #canvas: () => HTMLCanvasElement | null;
  #waiting: Pair | null = null;
  #isBusy = false;

  constructor(canvas: () => HTMLCanvasElement | null) {
    this.#canvas = canvas;
  }

  paint(pairs: readonly Pair[]): void {
    this.#waiting = pairs.at(-1) ?? this.#waiting;
    if (!this.#isBusy) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let pair = this.#waiting; pair !== null; pair = this.#waiting) {
      this.#waiting = null;
      // A picture that cannot be decoded is left out.
      await this.#show(pair).catch(() => {});
    }
    this.#isBusy = false;
  }

  async #show({ picture, detections }: Pair): Promise<void> {
    const image = await createImageBitmap(new Blob([picture.jpeg as BlobPart], { type: "image/jpeg" }));
    const canvas = this.#canvas();
    const context = canvas?.getContext("2d");
    if (!canvas || !context) return image.close();
    const density = fit(canvas, image);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    image.close();
    if (detections !== null) drawBoxes(context, detections, density);
    // What is shown, for whoever wants to know exactly.
    canvas.dataset.timestamp = picture.timestamp;
    canvas.dataset.tracks = String(detections?.active_tracks.length ?? "");
  }
}

/**
 * As large as its place is wide, and as its style lets it be high, in the pixels of this screen: boxes and words are sharp
 * at any size. Returns how many of its pixels are one of the page.
 */
function fit(canvas: HTMLCanvasElement, image: ImageBitmap): number {
  const room = canvas.parentElement?.clientWidth ?? image.width;
  const high = Number.parseFloat(getComputedStyle(canvas).maxHeight) || image.height;
  const scale = Math.min(room / image.width, high / image.height);
  const shown = image.width * scale;
  const density = Math.min(window.devicePixelRatio, MOST_PIXELS_WIDE / shown);
  const [width, height] = [Math.round(shown * density), Math.round(image.height * scale * density)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${shown}px`;
  }
  return density;
}
