/** Review: what happened on a source, on a time line of the day, with the recorded video of any moment. */
import { useState } from "preact/hooks";
import type { Source } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { html } from "../../html.ts";
import { linkTo, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { addDays, dayOf, isFile, readMoment } from "./clock.ts";
import { SourceReview } from "./source-review.ts";

const MAX_SOURCES = 1000;
const SOURCES_MS = 30_000;
/** Time lines next to that of the chosen source: browsers open few connections. */
const MAX_OTHERS = 5;

/** `/review?source=UUID&at=TIME&notice=UUID`; the time is in seconds for a file. */
export function Review() {
  const query = useQuery(
    async (signal) => {
      const [{ sources }, { recordings }] = await Promise.all([
        windhover.listSources({ limit: MAX_SOURCES }, { signal }),
        windhover.listRecordings({ limit: 1 }, { signal }),
      ]);
      return { sources, recorded: recordings[0]?.source_uuid ?? null };
    },
    [],
    SOURCES_MS,
  );
  return html`${whenLoaded(query, ({ sources, recorded }) =>
    sources.length === 0
      ? html`<h1>Review</h1><${Empty} title="Nothing to review yet"><p>Add a <a href=${linkTo("sources")}>source</a>: a camera or drone that publishes to this service is recorded, an uploaded video is kept. Start a process on it to see its tracks, and an alert to be notified.</p></${Empty}>`
      : html`<${Choice} key=${route.value.query.toString()} sources=${sources} recorded=${recorded} />`,
  )}`;
}

/** `recorded`: the source that was recorded last. What the address says at first, then the user. */
function Choice({ sources, recorded }: { sources: readonly Source[]; recorded: string | null }) {
  const { query } = route.value;
  const [uuid, setUuid] = useState(() => chooseFirst(sources, query.get("source"), recorded));
  const source = sources.find((one) => one.uuid === uuid) ?? (sources[0] as Source);
  const ofFile = isFile(source);
  const at = readMoment(query.get("at") ?? "");
  const [asked] = useState(() => (Number.isFinite(at) ? at : null));
  const [day, setDay] = useState(() => dayOf(asked === null || ofFile ? Date.now() : asked));
  const [others, setOthers] = useState<readonly string[]>([]);
  const today = dayOf(Date.now());
  const streams = sources.filter((one) => !isFile(one));
  const shown = streams.filter((one) => one.uuid !== source.uuid && others.includes(one.uuid));
  const toggle = (one: string) =>
    setOthers(others.includes(one) ? others.filter((uuid) => uuid !== one) : [...others, one].slice(-MAX_OTHERS));
  return html`
    <div class="row spread review-head">
      <h1>Review</h1>
      <div class="row">
        <${Select} class="inline" label="Source" value=${source.uuid} onChange=${setUuid} options=${sources.map((one) => [one.uuid, one.alias])} />
        ${
          !ofFile &&
          html`
            ${streams.length > 1 && html`<${Others} streams=${streams} current=${source.uuid} chosen=${others} onToggle=${toggle} />`}
            <div class="row day" role="group" aria-label="Day">
              <button type="button" aria-label="Previous day" onClick=${() => setDay(addDays(day, -1))}>‹</button>
              <input type="date" aria-label="Day" required value=${day} max=${today} onChange=${({
                currentTarget,
              }: Event) => {
                const { value } = currentTarget as HTMLInputElement;
                if (value !== "") setDay(value);
              }} />
              <button type="button" aria-label="Next day" disabled=${day >= today} onClick=${() => setDay(addDays(day, 1))}>›</button>
              ${day !== today && html`<button type="button" onClick=${() => setDay(today)}>Today</button>`}
            </div>
          `
        }
      </div>
    </div>
    <${SourceReview} key=${`${source.uuid} ${day}`} source=${source} day=${day} others=${ofFile ? [] : shown}
      askedMs=${source.uuid === query.get("source") ? asked : null} askedNotice=${query.get("notice")} onSource=${setUuid} />
  `;
}

/** That of the address, else the one that was recorded last. */
const chooseFirst = (sources: readonly Source[], asked: string | null, recorded: string | null): string =>
  (
    sources.find(({ uuid }) => uuid === asked) ??
    sources.find(({ uuid }) => uuid === recorded) ??
    (sources[0] as Source)
  ).uuid;

interface OthersProps {
  readonly streams: readonly Source[];
  readonly current: string;
  readonly chosen: readonly string[];
  onToggle(uuid: string): void;
}

const Others = ({ streams, current, chosen, onToggle }: OthersProps) => html`
  <details class="others">
    <summary class="button">Compare${chosen.length > 0 ? ` (${chosen.length})` : ""}</summary>
    <div class="card stack" role="group" aria-label="Time lines of further sources">
      ${streams
        .filter(({ uuid }) => uuid !== current)
        .map(
          ({ uuid, alias }) =>
            html`<label key=${uuid} class="check"><input type="checkbox" checked=${chosen.includes(uuid)} onChange=${() => onToggle(uuid)} /> ${alias}</label>`,
        )}
    </div>
  </details>
`;
