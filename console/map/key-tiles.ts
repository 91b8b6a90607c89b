/** Tiles of this service. They are fetched with the key in a header, which an image cannot send. */
import { type Coords, type DoneCallback, GridLayer, type GridLayerOptions } from "leaflet";
import { request } from "../session.ts";

export class KeyTiles extends GridLayer {
  readonly #template: string;
  readonly #loading = new WeakMap<HTMLElement, AbortController>();

  /** @param template a path below the service, with `{z}`, `{x}` and `{y}` */
  constructor(template: string, options: GridLayerOptions) {
    super(options);
    this.#template = template;
    this.on("tileunload", ({ tile }) => this.#loading.get(tile)?.abort());
  }

  protected override createTile(coords: Coords, done: DoneCallback): HTMLElement {
    const image = document.createElement("img");
    image.alt = "";
    const closing = new AbortController();
    this.#loading.set(image, closing);
    const { z, x, y } = coords;
    const path = this.#template.replace("{z}", String(z)).replace("{x}", String(x)).replace("{y}", String(y));
    this.#load(image, path, closing.signal).then(
      () => done(undefined, image),
      (error: Error) => done(error, image),
    );
    return image;
  }

  /** An area without data has no tile. */
  async #load(image: HTMLImageElement, path: string, signal: AbortSignal): Promise<void> {
    const response = await request(path, signal);
    if (response.status === 204) return;
    const url = URL.createObjectURL(await response.blob());
    try {
      image.src = url;
      await image.decode();
    } finally {
      URL.revokeObjectURL(url);
    }
  }
}
