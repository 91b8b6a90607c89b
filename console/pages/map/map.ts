/** Cameras with what they see, and geolocated tracks: of all running processes now, or of one process at any time. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Process } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { type NameOf, useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { html } from "../../html.ts";
import { SubscriptionLimit, useProcessEvents } from "../../live/process-streams.ts";
import { MapFrame } from "../../map/map-frame.ts";
import { Scene } from "../../map/scene.ts";
import { linkTo, navigate, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { HistoryMap } from "./history-map.ts";
import { PositionTable } from "./position-table.ts";

const POLL_MS = 2_000;
const HISTORY_POLL_MS = 30_000;
const TABLE_MS = 1_000;

export function MapPage() {
  const [, chosen = ""] = route.value.segments;
  return html`
    <div class="row spread">
      <h1>Map</h1>
      <${ChooseTime} chosen=${chosen} />
    </div>
    ${chosen === "" ? html`<${RunningProcesses} />` : html`<${HistoryMap} key=${chosen} processUuid=${chosen} />`}
  `;
}

/** Live, or the history of a process. */
function ChooseTime({ chosen }: { chosen: string }) {
  const nameOf = useSourceNames();
  const query = useQuery((signal) => windhover.listProcesses({ state: "all" }, { signal }), [chosen], HISTORY_POLL_MS);
  const processes = (query.value?.processes ?? []).filter(({ started_at }) => started_at !== null);
  const options = [["", "Live"], ...processes.map((process) => [process.uuid, describe(process, nameOf)])];
  if (chosen !== "" && !processes.some(({ uuid }) => uuid === chosen)) options.push([chosen, "Chosen process"]);
  const choose = (uuid: string): void => navigate(uuid === "" ? linkTo("map") : linkTo("map", uuid));
  return html`<${Select} class="choice" label="Show" value=${chosen} onChange=${choose} options=${options} />`;
}

const describe = (process: Process, nameOf: NameOf): string => `${nameOf(process)}, ${formatTime(process.started_at)}`;

function RunningProcesses() {
  const query = useQuery(
    async (signal) => (await windhover.listProcesses({}, { signal })).processes.map(({ uuid }) => uuid),
    [],
    POLL_MS,
  );
  return html`${whenLoaded(query, (uuids) =>
    uuids.length === 0
      ? html`<${Empty} title="No running processes"><p><a href=${linkTo("processes", "new")}>Start a process</a> on a source with telemetry.</p></${Empty}>`
      : html`<${LiveMap} uuids=${uuids} />`,
  )}`;
}

function LiveMap({ uuids }: { uuids: readonly string[] }) {
  const scene = useMemo(() => new Scene(), []);
  const [, setShownVersion] = useState(-1);
  useProcessEvents(uuids, (uuid, { event, data }) => {
    if (event === "detections") scene.addDetections(JSON.parse(data), performance.now());
    if (event === "camera") scene.addCamera(JSON.parse(data));
    if (event === "drone") scene.addDrone(uuid, JSON.parse(data));
  });
  useEffect(() => scene.retain(uuids), [uuids.join(" ")]);
  useEffect(() => {
    const timer = setInterval(() => {
      scene.expire(performance.now());
      setShownVersion(scene.version);
    }, TABLE_MS);
    return () => clearInterval(timer);
  }, []);
  const isEmpty = scene.cameras.size + scene.tracks.size === 0;
  return html`
    <${MapFrame} scene=${scene} label="Map of tracks and cameras.">
      ${isEmpty && html`<p class="over" role="status">No geolocated objects yet. Geolocation needs telemetry of the camera.</p>`}
    </${MapFrame}>
    <${SubscriptionLimit} count=${uuids.length} />
    <${PositionTable} scene=${scene} />
  `;
}
