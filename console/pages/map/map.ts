/** Where things are: the tracks of all running processes, with the drones that see them. No tiles are fetched from anywhere. */
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { LiveMap } from "./live-map.ts";

const EVERY_MS = 2_000;

export function MapPage() {
  const { asked, reload } = useAsked(
    async (signal) => {
      const { processes } = await windhover.listProcesses({}, { signal });
      // Of version 7: by when they were started, the newest first.
      return processes
        .map(({ uuid }) => uuid)
        .sort()
        .reverse();
    },
    [],
    EVERY_MS,
  );
  return html`
    <h1>Map</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${(uuids: readonly string[]) =>
        uuids.length === 0
          ? html`<${Empty} title="No process runs"><p>Start one on a source that has telemetry: <a href=${addressOf("processes", "new")}>start</a>.</p></${Empty}>`
          : html`<${LiveMap} uuids=${uuids.join(" ")} />`}
    </${Shown}>
  `;
}
