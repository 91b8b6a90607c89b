/** The map on its canvas: when it is redrawn, and how the user moves and zooms it. */
import { drawMap } from "./draw-map.ts";
import { Scene } from "./scene.ts";
import { fit, type Pixel, pan, type Size, type Viewport, zoomAt } from "./viewport.ts";

/** The scene, the viewport, and what of them is drawn. */
export class MapCanvas {
  readonly scene = new Scene();
  readonly #canvas: () => HTMLCanvasElement | null;
  #viewport: Viewport | null = null;
  /** Until the user moves the map. */
  #isFitting = true;
  #drawnState = "";
  #drawnViewport: Viewport | null = null;
  #count = 0;

  constructor(canvas: () => HTMLCanvasElement | null) {
    this.#canvas = canvas;
  }

  /** Does nothing while everything is unchanged. */
  draw(): void {
    const canvas = this.#canvas();
    if (canvas === null) return;
    const size = sizeOf(canvas);
    const { theme } = document.documentElement.dataset;
    const state = [this.scene.version, size.width, size.height, devicePixelRatio, theme].join(" ");
    const isWaiting = this.#isFitting && this.#viewport === null;
    if (state === this.#drawnState && this.#viewport === this.#drawnViewport && !isWaiting) return;
    if (this.#isFitting || this.#viewport === null) this.#viewport = fit(this.scene, size);
    if (this.#viewport === null) return;
    [this.#drawnState, this.#drawnViewport] = [state, this.#viewport];
    drawMap(canvas, this.scene, this.#viewport);
    // For tests.
    canvas.dataset.drawn = String(++this.#count);
  }

  pan(by: Pixel): void {
    this.#change((viewport) => pan(viewport, by));
  }

  /** Around the centre, unless `at` is given. */
  zoom(factor: number, at?: Pixel): void {
    this.#change((viewport, size) => zoomAt(viewport, size, at ?? [size.width / 2, size.height / 2], factor));
  }

  showAll(): void {
    this.#isFitting = true;
    this.#drawnState = "";
  }

  #change(next: (viewport: Viewport, size: Size) => Viewport): void {
    const canvas = this.#canvas();
    if (this.#viewport === null || canvas === null) return;
    this.#isFitting = false;
    this.#viewport = next(this.#viewport, sizeOf(canvas));
  }
}

const sizeOf = ({ clientWidth, clientHeight }: HTMLCanvasElement): Size => ({
  width: clientWidth,
  height: clientHeight,
});

const ARROW_KEYS: Readonly<Record<string, Pixel>> = {
  ArrowLeft: [40, 0],
  ArrowRight: [-40, 0],
  ArrowUp: [0, 40],
  ArrowDown: [0, -40],
};

/** Wheel, mouse, one or two fingers, and keys. */
export function createHandlers(map: MapCanvas): Readonly<Record<string, (event: never) => void>> {
  const pointers = new Map<number, Pixel>();
  const pixelAt = ({ clientX, clientY, currentTarget }: MouseEvent): Pixel => {
    const { left, top } = (currentTarget as Element).getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const release = ({ pointerId }: PointerEvent): void => void pointers.delete(pointerId);
  return {
    onKeyDown(event: KeyboardEvent) {
      const by = ARROW_KEYS[event.key];
      if (event.key === "+" || event.key === "=") map.zoom(0.8);
      else if (event.key === "-") map.zoom(1.25);
      else if (event.key === "0" || event.key === "Home") map.showAll();
      else if (by !== undefined) map.pan(by);
      else return;
      event.preventDefault();
    },
    onWheel(event: WheelEvent) {
      event.preventDefault();
      map.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, pixelAt(event));
    },
    onPointerDown(event: PointerEvent) {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, pixelAt(event));
    },
    onPointerMove(event: PointerEvent) {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      const now = pixelAt(event);
      const [, other] = [...pointers].find(([id]) => id !== event.pointerId) ?? [];
      pointers.set(event.pointerId, now);
      if (other === undefined) return map.pan([now[0] - before[0], now[1] - before[1]]);
      const distance = (at: Pixel) => Math.max(1, Math.hypot(at[0] - other[0], at[1] - other[1]));
      map.zoom(distance(before) / distance(now), other);
    },
    onPointerUp: release,
    onPointerCancel: release,
  };
}
