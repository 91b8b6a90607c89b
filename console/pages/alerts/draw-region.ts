/** A zone or a line, drawn on a picture of the process. By mouse, by finger, or by the arrow keys. */
import { useRef, useState } from "preact/hooks";
import { html } from "../../html.ts";
import { forwardArrow, type Point } from "./region.ts";

const STEP = 0.01;
const ARROWS: Readonly<Record<string, Point>> = {
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
  ArrowUp: [0, -STEP],
  ArrowDown: [0, STEP],
};
/** With the shift key. */
const LEAP = 10;
/** Units of the drawing across the picture. */
const ACROSS = 1000;

const within = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 10_000) / 10_000;

interface Parts {
  /** Null: none could be had; the frame is grey then. */
  readonly picture: string | null;
  readonly points: readonly Point[];
  /** Of two points, and with a side that is forward. */
  readonly isLine: boolean;
  onChange(points: readonly Point[]): void;
}

export function DrawRegion({ picture, points, isLine, onChange }: Parts) {
  const frame = useRef<SVGSVGElement>(null);
  const [held, setHeld] = useState<number | null>(null);
  const [aspect, setAspect] = useState(9 / 16);
  const isFull = isLine && points.length >= 2;
  const read = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top, width, height } = frame.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    return [within((clientX - left) / width), within((clientY - top) / height)];
  };
  const replace = (index: number, point: Point) => onChange(points.map((one, i) => (i === index ? point : one)));
  const focus = (index: number): void => {
    // It is there after the next drawing.
    requestAnimationFrame(() => frame.current?.querySelector<SVGElement>(`[data-index="${index}"]`)?.focus());
  };
  const add = (point: Point): void => {
    onChange([...points, point]);
    focus(points.length);
  };
  /** Of a line that is complete the nearer end comes; else there is a new point. */
  const put = (point: Point): number => {
    if (!isFull) {
      add(point);
      return points.length;
    }
    const nearest = findNearest(points, point);
    replace(nearest, point);
    return nearest;
  };
  const onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    event.preventDefault();
    frame.current?.setPointerCapture(event.pointerId);
    const index = (event.target as Element).closest("[data-index]")?.getAttribute("data-index") ?? null;
    const taken = index === null ? put(read(event)) : Number(index);
    setHeld(taken);
    focus(taken);
  };
  const onKey = (index: number, event: KeyboardEvent): void => {
    const [x = 0, y = 0] = points[index] ?? [];
    const arrow = ARROWS[event.key];
    const times = event.shiftKey ? LEAP : 1;
    if (arrow !== undefined) replace(index, [within(x + arrow[0] * times), within(y + arrow[1] * times)]);
    else if (event.key === "Delete" || event.key === "Backspace") {
      onChange(points.filter((_, i) => i !== index));
      focus(Math.max(0, index - 1));
    } else return;
    event.preventDefault();
  };
  const scaled = points.map(([x, y]): Point => [x * ACROSS, y * ACROSS * aspect]);
  const shape = scaled.map((point) => point.join(",")).join(" ");
  return html`
    <div class="draw">
      ${
        picture !== null &&
        html`<img src=${picture} alt="The picture of the process" onLoad=${(event: Event) => {
          const { naturalWidth, naturalHeight } = event.currentTarget as HTMLImageElement;
          setAspect(naturalHeight / naturalWidth);
        }} />`
      }
      <svg ref=${frame} viewBox=${`0 0 ${ACROSS} ${ACROSS * aspect}`} preserveAspectRatio="none" class=${picture === null ? "blank" : ""}
        role="group" aria-label=${isLine ? "The line" : "The zone"}
        onPointerDown=${onDown} onPointerMove=${(event: PointerEvent) => held !== null && replace(held, read(event))}
        onPointerUp=${() => setHeld(null)} onPointerCancel=${() => setHeld(null)}>
        ${isLine ? html`<polyline points=${shape} /><${Forward} points=${points} aspect=${aspect} />` : html`<polygon points=${shape} />`}
        ${scaled.map(
          (at, i) =>
            html`<${Corner} key=${i} index=${i} at=${at} point=${points[i]} onKey=${(event: KeyboardEvent) => onKey(i, event)} />`,
        )}
      </svg>
    </div>
    <div class="row">
      <button type="button" disabled=${isFull} onClick=${() => add([0.5, 0.5])}>Add a point</button>
      <button type="button" disabled=${points.length === 0} onClick=${() => onChange(points.slice(0, -1))}>Take the last one back</button>
      ${isLine && html`<button type="button" disabled=${!isFull} onClick=${() => onChange([...points].reverse())}>Turn it round</button>`}
    </div>
    <p class="hint">${describe(points.length, isLine)} Arrow keys move a point, with Shift further; Delete takes it away.</p>
  `;
}

function describe(count: number, isLine: boolean): string {
  if (isLine) return "Drag the two ends to where they belong. The arrow points forward.";
  if (count === 0) return "No points: the whole picture. Click on the picture to draw a zone.";
  return `${count} ${count === 1 ? "point" : "points"}. Click to add more, drag to move them.`;
}

function findNearest(points: readonly Point[], [x, y]: Point): number {
  const distances = points.map(([px, py]) => Math.hypot(px - x, py - y));
  return distances.indexOf(Math.min(...distances));
}

interface CornerParts {
  readonly index: number;
  /** In units of the drawing. */
  readonly at: Point;
  readonly point: Point;
  onKey(event: KeyboardEvent): void;
}

/** Larger for fingers than it looks. */
const Corner = ({ index, at: [cx, cy], point: [x, y], onKey }: CornerParts) => html`
  <g data-index=${index} tabindex="0" role="slider" aria-label=${`Point ${index + 1}`} aria-valuenow=${Math.round(x * 100)}
    aria-valuetext=${`${Math.round(x * 100)} % from the left, ${Math.round(y * 100)} % from the top`} onKeyDown=${onKey}>
    <path class="grip" d=${`M${cx},${cy}h0.01`} />
    <path class="corner" d=${`M${cx},${cy}h0.01`} />
  </g>
`;

function Forward({ points, aspect }: { points: readonly Point[]; aspect: number }) {
  const [a, b] = points.map(([x, y]): Point => [x, y * aspect]);
  const arrow = a === undefined || b === undefined ? null : forwardArrow([a, b]);
  if (arrow === null) return null;
  const path = arrow.map(([x, y]) => `${x * ACROSS},${y * ACROSS}`).join(" ");
  return html`<polyline class="forward" points=${path}><title>Forward</title></polyline>`;
}
