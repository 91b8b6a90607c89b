/** Which notices are shown, the classes of the time line, and what to do where there is nothing. */
import type { Source } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { html } from "../../html.ts";
import { linkTo } from "../../router.ts";
import { hueOf } from "./class-colour.ts";
import { countTracks, type Filter, type History } from "./history.ts";

interface FilterProps {
  readonly history: History;
  readonly filter: Filter;
  onChange(filter: Filter): void;
}

export const Filters = ({ history, filter, onChange }: FilterProps) => {
  const alerts = [...new Map(history.marks.map(({ alert_uuid, alias }) => [alert_uuid, alias]))];
  const classes = [...new Set(history.marks.flatMap((mark) => mark.classes))].sort();
  if (history.marks.length === 0) return html`<h2>Notices</h2>`;
  const open = history.marks.filter(({ reviewed }) => !reviewed).length;
  return html`
    <div class="row spread"><h2>Notices</h2><span class="hint">${open} of ${history.marks.length} to review</span></div>
    <div class="filters">
      <${Select} label=${html`<span class="unseen">Alert</span>`} value=${filter.alertUuid} options=${[["", "Any alert"], ...alerts]} onChange=${(alertUuid: string) => onChange({ ...filter, alertUuid })} />
      <${Select} label=${html`<span class="unseen">Class</span>`} value=${filter.className} options=${[["", "Any class"], ...withCurrent(classes, filter.className).map((one) => [one, one])]} onChange=${(className: string) => onChange({ ...filter, className })} />
      <${Select} label=${html`<span class="unseen">Review</span>`} value=${filter.reviewed} options=${REVIEW} onChange=${(reviewed: Filter["reviewed"]) => onChange({ ...filter, reviewed })} />
    </div>
  `;
};

const withCurrent = (names: readonly string[], current: string): readonly string[] =>
  current === "" || names.includes(current) ? names : [...names, current];

const REVIEW = [
  ["", "Any state"],
  ["false", "To review"],
  ["true", "Reviewed"],
] as const;

const MAX_CLASSES = 8;

/** Legend, and filter by class. */
export const Classes = ({ history, filter, onChange }: FilterProps) => html`
  <div class="row classes" role="group" aria-label="Classes">
    <span class="key recorded">recorded</span>
    ${countTracks(history.activity)
      .slice(0, MAX_CLASSES)
      .map(
        ([name, tracks]) => html`
          <button key=${name} type="button" class="chip" aria-pressed=${filter.className === name} onClick=${() => onChange({ ...filter, className: filter.className === name ? "" : name })}>
            <span class="dot" aria-hidden="true" style=${{ "--hue": hueOf(name) }}></span>${name} <span class="hint">${tracks}</span>
          </button>
        `,
      )}
  </div>
`;

export const EmptyHint = ({ history, source }: { history: History; source: Source }) => {
  if (history.recorded.length > 0 && history.processes.length > 0) return null;
  const start = html`<a href=${`${linkTo("processes", "new")}?source=${source.uuid}`}>Start a process</a>`;
  if (history.recorded.length === 0 && source.hls_url === undefined && source.type === "stream")
    return html`<p class="hint">Nothing was recorded on this day. A camera that this service pulls is recorded on request, while a process runs on it; tracks and notices of its processes are shown without video.</p>`;
  return history.recorded.length === 0
    ? html`<p class="hint">Nothing was recorded on this day. Choose another day above, or publish the stream.</p>`
    : html`<p class="hint">No process analysed this video, so there are no tracks. ${start} on this source.</p>`;
};
