/** How one moves and zooms the map: wheel, mouse, one finger or two, and keys. */
import { type Look, move, type Pixel, type Size, zoomAt } from "./look.ts";

const KEYS: Readonly<Record<string, Pixel>> = {
  ArrowLeft: [40, 0],
  ArrowRight: [-40, 0],
  ArrowUp: [0, 40],
  ArrowDown: [0, -40],
};

export interface Hands {
  zoom(factor: number, at?: Pixel): void;
  readonly on: Readonly<Record<string, (event: never) => void>>;
}

export interface HandsNeeds {
  canvas(): HTMLCanvasElement | null;
  change(next: (look: Look, size: Size) => Look): void;
  showAll(): void;
}

export function makeHands({ canvas, change, showAll }: HandsNeeds): Hands {
  const fingers = new Map<number, Pixel>();
  const read = ({ clientX, clientY }: MouseEvent): Pixel => {
    const { left, top } = canvas()?.getBoundingClientRect() ?? new DOMRect();
    return [clientX - left, clientY - top];
  };
  const zoom = (factor: number, at?: Pixel): void =>
    change((look, size) => zoomAt(look, size, at ?? [size.width / 2, size.height / 2], factor));
  const pinch = (event: PointerEvent, before: Pixel): void => {
    const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    const now = read(event);
    if (other === undefined) {
      change((look) => move(look, [now[0] - before[0], now[1] - before[1]]));
      return;
    }
    const apart = (at: Pixel) => Math.max(1, Math.hypot(at[0] - other[0], at[1] - other[1]));
    zoom(apart(before) / apart(now), other);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = KEYS[event.key];
    if (event.key === "+" || event.key === "=") zoom(0.8);
    else if (event.key === "-") zoom(1.25);
    else if (event.key === "0" || event.key === "Home") showAll();
    else if (by !== undefined) change((look) => move(look, by));
    else return;
    event.preventDefault();
  };
  return {
    zoom,
    on: {
      onKeyDown,
      onWheel(event: WheelEvent) {
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, read(event));
      },
      onPointerDown(event: PointerEvent) {
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
        fingers.set(event.pointerId, read(event));
      },
      onPointerMove(event: PointerEvent) {
        const before = fingers.get(event.pointerId);
        if (before === undefined) return;
        pinch(event, before);
        fingers.set(event.pointerId, read(event));
      },
      onPointerUp: (event: PointerEvent) => void fingers.delete(event.pointerId),
      onPointerCancel: (event: PointerEvent) => void fingers.delete(event.pointerId),
    },
  };
}
