/** A map on which the user clicks a position, around the camera of a process. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { html } from "../html.ts";
import { openEvents } from "../live/process-streams.ts";
import { MapFrame } from "./map-frame.ts";
import type { MapView } from "./map-view.ts";
import { type Position, Scene } from "./scene.ts";

interface PickProps {
  readonly processUuid: string;
  /** What is entered. */
  readonly position: Position | null;
  onPick(position: Position): void;
}

export function PickPosition({ processUuid, position, onPick }: PickProps) {
  const scene = useMemo(() => new Scene(), []);
  const view = useRef<MapView | null>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  useEffect(
    () =>
      openEvents(processUuid, ({ event, data }) => {
        if (event === "camera") scene.addCamera(JSON.parse(data));
        if (event === "drone") scene.addDrone(processUuid, JSON.parse(data));
      }),
    [processUuid],
  );
  useEffect(() => scene.setMark(position), [position?.latitude, position?.longitude]);
  const onView = (opened: MapView | null): void => {
    view.current = opened;
    opened?.onClick((clicked) => pick.current(clicked));
  };
  const takeCentre = (): void => {
    const centre = view.current?.centre ?? null;
    if (centre !== null) onPick(centre);
  };
  return html`
    <${MapFrame} scene=${scene} class="small" label="Map around the camera. Click the landmark." onView=${onView} />
    <div class="row"><button type="button" onClick=${takeCentre}>Use the middle of the map</button></div>
  `;
}
