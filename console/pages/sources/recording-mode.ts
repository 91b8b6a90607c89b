/** How a published stream is recorded: always, on alerts, or not at all. */
import type { RecordingSetting, Source } from "../../../client/client.ts";
import { FormDialog } from "../../components/dialog.ts";
import { Input, useSubmit } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { showToast } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";

type Mode = RecordingSetting["mode"];

const MODES: readonly (readonly [Mode, title: string, meaning: string])[] = [
  ["always", "Always", "From the start of the stream to its end."],
  [
    "on_alert",
    "On alerts",
    "Some seconds from each notice of an alert on this source on (usually 30, setting recordings.on_alert_seconds), and the seconds before.",
  ],
  ["off", "Off", "Nothing is recorded. Live view, processes and alerts work as before, and so do clips of alerts."],
];

export function RecordingMode({ source, onClose }: { source: Source; onClose: () => void }) {
  const query = useQuery((signal) => windhover.readRecordingSetting({ source_uuid: source.uuid }, { signal }), []);
  const { isBusy, ...form } = useSubmit(async (data) => {
    const mode = String(data.get("mode")) as Mode;
    const body = { mode, pre_roll_seconds: Number(data.get("pre-roll")) };
    await windhover.changeRecordingSetting({ source_uuid: source.uuid, body });
    const [, title = ""] = MODES.find(([name]) => name === mode) ?? [];
    showToast(`Recording of ${source.alias}: ${title.toLowerCase()}`);
    onClose();
  });
  const isWaiting = isBusy || query.value === undefined;
  return html`
    <${FormDialog} title=${`Recording of ${source.alias}`} action="Save" ...${form} isBusy=${isWaiting} onClose=${onClose}>
      ${whenLoaded(query, (setting) => html`<${Fields} setting=${setting} />`)}
    </${FormDialog}>
  `;
}

const Fields = ({ setting }: { setting: RecordingSetting }) => html`
  <p role="status">${describeNow(setting)}</p>
  <fieldset class="stack">
    <legend>Record</legend>
    ${MODES.map(
      ([mode, title, meaning]) => html`
        <div key=${mode}>
          <label class="check"><input type="radio" name="mode" value=${mode} defaultChecked=${mode === setting.mode} aria-describedby=${`mode-${mode}`} /> <strong>${title}</strong></label>
          <p class="hint" id=${`mode-${mode}`}>${meaning}</p>
        </div>
      `,
    )}
  </fieldset>
  <${Input} label="Seconds before the start of a recording" path="/pre_roll_seconds" name="pre-roll" type="number" min="0" max="60" step="1" required defaultValue=${String(setting.pre_roll_seconds)}
    hint="Kept while the stream is not recorded, up to 60." />
`;

function describeNow({ recording_uuid, wanted_until }: RecordingSetting): string {
  if (recording_uuid === null) return "Not recorded at the moment.";
  return wanted_until === null ? "It is being recorded." : `It is being recorded, until ${formatTime(wanted_until)}.`;
}
