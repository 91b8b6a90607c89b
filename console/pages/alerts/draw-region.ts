/** A zone or a line, drawn on a picture of the process, in fractions of it. By mouse, by finger, or by the arrow keys. */
import { useRef, useState } from "preact/hooks";
import { html } from "../../html.ts";

export type Point = readonly [x: number, y: number];

const STEP = 0.01;
const ARROWS: Readonly<Record<string, Point>> = {
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
  ArrowUp: [0, -STEP],
  ArrowDown: [0, STEP],
};

const within = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 10_000) / 10_000;

interface Parts {
  /** Null: none could be had; the frame is grey then. */
  readonly picture: string | null;
  readonly points: readonly Point[];
  /** Two for a line; null for as many as one likes. */
  readonly most: number | null;
  onChange(points: readonly Point[]): void;
}

export function DrawRegion({ picture, points, most, onChange }: Parts) {
  const frame = useRef<SVGSVGElement>(null);
  const [held, setHeld] = useState<number | null>(null);
  const [aspect, setAspect] = useState(9 / 16);
  const read = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top, width, height } = frame.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    return [within((clientX - left) / width), within((clientY - top) / height)];
  };
  const replace = (index: number, point: Point) => onChange(points.map((one, i) => (i === index ? point : one)));
  const onDown = (event: PointerEvent): void => {
    const index = (event.target as Element).getAttribute("data-index");
    if (index !== null) setHeld(Number(index));
    else if (most === null || points.length < most) onChange([...points, read(event)]);
  };
  const onKey = (index: number, event: KeyboardEvent): void => {
    const [x = 0, y = 0] = points[index] ?? [];
    const arrow = ARROWS[event.key];
    if (arrow !== undefined) replace(index, [within(x + arrow[0]), within(y + arrow[1])]);
    else if (event.key === "Delete" || event.key === "Backspace") onChange(points.filter((_, i) => i !== index));
    else return;
    event.preventDefault();
  };
  const shape = points.map(([x, y]) => `${x},${y * aspect}`).join(" ");
  return html`
    <div class="draw">
      ${
        picture !== null &&
        html`<img src=${picture} alt="The picture of the process" onLoad=${(event: Event) => {
          const { naturalWidth, naturalHeight } = event.currentTarget as HTMLImageElement;
          setAspect(naturalHeight / naturalWidth);
        }} />`
      }
      <svg ref=${frame} viewBox=${`0 0 1 ${aspect}`} preserveAspectRatio="none" class=${picture === null ? "blank" : ""}
        role="group" aria-label=${most === 2 ? "The line" : "The zone"}
        onPointerDown=${onDown} onPointerMove=${(event: PointerEvent) => held !== null && replace(held, read(event))}
        onPointerUp=${() => setHeld(null)} onPointerLeave=${() => setHeld(null)}>
        ${most === 2 ? html`<polyline points=${shape} />` : html`<polygon points=${shape} />`}
        ${points.map(
          (
            [x, y],
            i,
          ) => html`<circle key=${i} data-index=${i} cx=${x} cy=${y * aspect} r="0.012" tabindex="0" role="slider"
            aria-label=${`Point ${i + 1}`} aria-valuenow=${Math.round(x * 100)} aria-valuetext=${`${Math.round(x * 100)} % from the left, ${Math.round(y * 100)} % from the top`}
            onKeyDown=${(event: KeyboardEvent) => onKey(i, event)} />`,
        )}
      </svg>
    </div>
    <div class="row">
      <button type="button" disabled=${most !== null && points.length >= most} onClick=${() => onChange([...points, [0.5, 0.5]])}>Add a point</button>
      <button type="button" disabled=${points.length === 0} onClick=${() => onChange(points.slice(0, -1))}>Take the last one back</button>
      <span class="hint">${most === 2 ? "Two points; which side is which follows from their order." : points.length === 0 ? "None: the whole picture." : `${points.length} points`}</span>
    </div>
  `;
}
