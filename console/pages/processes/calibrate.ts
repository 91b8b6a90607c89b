/** The calibration of the camera's heading: a landmark is marked in a frame, and on the map or by its coordinates. */
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type Calibration, type Process } from "../../../client/client.ts";
import { confirm, FormDialog } from "../../components/dialog.ts";
import { useSubmit } from "../../components/form.ts";
import { formatCount, formatTime } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { Loading } from "../../components/states.ts";
import { attempt, showToast } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { fetchStill } from "../../live/process-streams.ts";
import type { Position } from "../../map/scene.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";

export function Heading({ process }: { process: Process }) {
  const { source_uuid } = process;
  const query = useQuery(async (signal) => ({ found: await readCalibration(source_uuid, signal) }), [source_uuid]);
  const [isOpen, setOpen] = useState(false);
  const remove = async (): Promise<void> => {
    const text = "Positions are computed with the heading that the telemetry reports, from now on.";
    if (!(await confirm({ title: "Remove the calibration?", action: "Remove", text }))) return;
    await attempt(() => windhover.deleteCalibration({ source_uuid }), "Calibration removed");
    query.reload();
  };
  const finish = ({ heading_offset_deg: offset, heading_error_deg: error }: Calibration): void => {
    setOpen(false);
    showToast(`Heading corrected by ${formatDegrees(offset)} ± ${error.toFixed(1)}°`);
    query.reload();
  };
  return html`
    <section class="card stack" aria-label="Heading">
      <h2>Heading</h2>
      ${whenLoaded(query, ({ found }) =>
        found === null
          ? html`<p class="hint">Used as the telemetry reports it.</p>`
          : html`<p>Corrected by <strong>${formatDegrees(found.heading_offset_deg)} ± ${found.heading_error_deg.toFixed(1)}°</strong>, with ${formatCount(found.landmarks, "landmark")}, ${formatTime(found.calibrated_at)}</p>`,
      )}
      <div class="row">
        <button type="button" onClick=${() => setOpen(true)}>Calibrate</button>
        <a class="button" href=${linkTo("map", process.uuid)}>Show on the map</a>
        ${query.value?.found && html`<button type="button" class="plain" onClick=${() => void remove()}>Remove</button>`}
      </div>
    </section>
    ${isOpen && html`<${CalibrateDialog} process=${process} onClose=${() => setOpen(false)} onDone=${finish} />`}
  `;
}

const formatDegrees = (degrees: number): string => `${degrees < 0 ? "−" : "+"}${Math.abs(degrees).toFixed(1)}°`;

async function readCalibration(source_uuid: string, signal: AbortSignal): Promise<Calibration | null> {
  try {
    return await windhover.readCalibration({ source_uuid }, { signal });
  } catch (error) {
    if (error instanceof ApiError && error.code === "calibration_not_found") return null;
    throw error;
  }
}

interface DialogProps {
  readonly process: Process;
  onClose(): void;
  onDone(calibration: Calibration): void;
}

type Point = readonly [x: number, y: number];

function CalibrateDialog({ process, onClose, onDone }: DialogProps) {
  const [point, setPoint] = useState<Point | null>(null);
  const query = useQuery((signal) => fetchStill(process.uuid, signal), [process.uuid]);
  const url = query.value?.url;
  useEffect(() => () => URL.revokeObjectURL(url ?? ""), [url]);
  const form = useSubmit(async (data) => {
    if (point === null || query.value === undefined) throw new Error("Mark the landmark in the picture first.");
    const altitude = String(data.get("altitude") ?? "").trim();
    const landmark = {
      ...{ x: point[0], y: point[1], timestamp: query.value.timestamp },
      ...{ latitude: Number(data.get("latitude")), longitude: Number(data.get("longitude")) },
      ...(altitude !== "" && { altitude: Number(altitude) }),
    };
    onDone(await windhover.calibrateSource({ source_uuid: process.source_uuid, body: { landmarks: [landmark] } }));
  });
  const reload = (): void => {
    setPoint(null);
    query.reload();
  };
  return html`
    <${FormDialog} title="Calibrate the heading" action="Calibrate" onClose=${onClose} ...${form}>
      <p>Mark a point whose coordinates you know, such as the corner of a building: the farther away, the better.</p>
      ${
        query.value === undefined
          ? query.error === null
            ? html`<${Loading} what="Loading a frame" />`
            : html`<p role="status">No frame available: ${query.error.message}</p>`
          : html`<${MarkPoint} url=${query.value.url} point=${point} onChange=${setPoint} />`
      }
      <div class="row">
        <button type="button" onClick=${reload}>New frame</button>
        <button type="button" disabled=${point !== null} onClick=${() => setPoint([0.5, 0.5])}>Mark the middle</button>
      </div>
      <p class="hint">Click the landmark. Arrow keys move the mark, with Shift further. The frame must be less than a minute old.</p>
      <${Coordinates} process=${process} />
      <label>Altitude (m above mean sea level, empty: on the ground)<input name="altitude" type="number" step="any" /></label>
    </${FormDialog}>
  `;
}

interface PickProps {
  readonly processUuid: string;
  readonly position: Position | null;
  onPick(position: Position): void;
}

/** About a centimetre. */
const DECIMALS = 7;

/** Entered, or clicked on the map, which is loaded when it is asked for. */
function Coordinates({ process }: { process: Process }) {
  const [texts, setTexts] = useState({ latitude: "", longitude: "" });
  const [Pick, setPick] = useState<ComponentType<PickProps> | null>(null);
  const openMap = (): Promise<boolean> =>
    attempt(async () => {
      const { PickPosition } = await import("../../map/pick-position.ts");
      setPick(() => PickPosition);
    });
  const onPick = ({ latitude, longitude }: Position): void =>
    setTexts({ latitude: latitude.toFixed(DECIMALS), longitude: longitude.toFixed(DECIMALS) });
  const edit = (name: "latitude" | "longitude") => (event: Event) =>
    setTexts((before) => ({ ...before, [name]: (event.currentTarget as HTMLInputElement).value }));
  return html`
    ${
      Pick === null
        ? html`<div class="row"><button type="button" onClick=${() => void openMap()}>Choose on the map</button></div>`
        : html`<${Pick} processUuid=${process.uuid} position=${readPosition(texts)} onPick=${onPick} />`
    }
    <label>Latitude<input name="latitude" type="number" step="any" min="-90" max="90" required value=${texts.latitude} onInput=${edit("latitude")} /></label>
    <label>Longitude<input name="longitude" type="number" step="any" min="-180" max="180" required value=${texts.longitude} onInput=${edit("longitude")} /></label>
  `;
}

function readPosition(texts: Readonly<Record<"latitude" | "longitude", string>>): Position | null {
  if (texts.latitude.trim() === "" || texts.longitude.trim() === "") return null;
  const [latitude, longitude] = [Number(texts.latitude), Number(texts.longitude)];
  return Number.isFinite(latitude) && Number.isFinite(longitude) ? { latitude, longitude } : null;
}

const STEP = 0.002;
/** With the shift key. */
const LARGE_STEP = 10;
const ARROWS: Readonly<Record<string, Point>> = {
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
  ArrowUp: [0, -STEP],
  ArrowDown: [0, STEP],
};
/** Width of the frame in SVG units. */
const WIDTH = 1000;
const clamp = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 10_000) / 10_000;

interface MarkProps {
  readonly url: string;
  readonly point: Point | null;
  onChange(point: Point): void;
}

function MarkPoint({ url, point, onChange }: MarkProps) {
  const svg = useRef<SVGSVGElement>(null);
  const [aspect, setAspect] = useState(9 / 16);
  const onLoad = ({ currentTarget }: Event): void => {
    const { naturalWidth, naturalHeight } = currentTarget as HTMLImageElement;
    setAspect(naturalHeight / naturalWidth);
  };
  const onDown = ({ clientX, clientY, button }: PointerEvent): void => {
    if (button !== 0) return;
    const { left, top, width, height } = svg.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    onChange([clamp((clientX - left) / width), clamp((clientY - top) / height)]);
  };
  const onKey = (event: KeyboardEvent): void => {
    const arrow = ARROWS[event.key];
    if (arrow === undefined || point === null) return;
    const times = event.shiftKey ? LARGE_STEP : 1;
    onChange([clamp(point[0] + arrow[0] * times), clamp(point[1] + arrow[1] * times)]);
    event.preventDefault();
  };
  return html`
    <div class="draw">
      <img src=${url} alt="Frame of the process" onLoad=${onLoad} />
      <svg ref=${svg} viewBox=${`0 0 ${WIDTH} ${WIDTH * aspect}`} preserveAspectRatio="none" role="group" aria-label="Landmark" onPointerDown=${onDown}>
        ${
          point !== null &&
          html`<circle cx=${point[0] * WIDTH} cy=${point[1] * WIDTH * aspect} r="9" tabindex="0" role="img"
            aria-label=${`Landmark at ${Math.round(point[0] * 100)} % from the left, ${Math.round(point[1] * 100)} % from the top`} onKeyDown=${onKey} />`
        }
      </svg>
    </div>
  `;
}
