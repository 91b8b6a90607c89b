/** Where the processed video goes: what is attached, with its address, and how to attach more. */
import { useState } from "preact/hooks";
import type { Output, Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { readChoice } from "../../parts/choice.ts";
import { Copyable } from "../../parts/copy.ts";
import { Shown } from "../../parts/states.ts";
import { attempt } from "../../parts/toasts.ts";
import { windhover } from "../../session.ts";

const EVERY_MS = 3_000;

export function Outputs({ process, onChange }: { process: Process; onChange: () => void }) {
  const { asked, reload } = useAsked((signal) => windhover.listOutputs({}, { signal }), [process.uuid], EVERY_MS);
  const after = () => {
    reload();
    onChange();
  };
  return html`
    <section class="card stack" aria-label="Outputs">
      <h2>Outputs</h2>
      <${Shown} asked=${asked} onRetry=${reload}>
        ${({ outputs }: { outputs: readonly Output[] }) => html`
          <${Attached} process=${process} outputs=${outputs.filter((output) => output.attached_to === process.uuid)} onChange=${after} />
          <${Attach} process=${process} outputs=${outputs.filter((output) => output.attached_to === null)} onChange=${after} />
        `}
      </${Shown}>
    </section>
  `;
}

interface Parts {
  readonly process: Process;
  readonly outputs: readonly Output[];
  readonly onChange: () => void;
}

const Attached = ({ process, outputs, onChange }: Parts) => {
  if (outputs.length === 0) return html`<p class="hint">Nothing is attached.</p>`;
  const detach = async (output: Output): Promise<void> => {
    await attempt(
      () => windhover.detachOutput({ process_uuid: process.uuid, output_uuid: output.uuid }),
      `${output.alias} is detached`,
    );
    onChange();
  };
  return html`<ul class="plain-list">${outputs.map(
    (output) => html`
      <li key=${output.uuid}>
        <div class="row spread"><strong>${output.alias}</strong><span class="state ${output.status}">${output.status}</span></div>
        <${Copyable} label=${`address of ${output.alias}`} text=${output.play_url ?? output.url ?? output.type} />
        ${output.status_detail !== null && html`<p class="hint">${output.status_detail}</p>`}
        <div class="row">
          ${output.webrtc_url !== undefined && html`<a class="button" target="_blank" href=${output.webrtc_url}>Watch</a>`}
          <button type="button" class="plain" aria-label=${`Detach ${output.alias}`} onClick=${() => void detach(output)}>Detach</button>
        </div>
      </li>
    `,
  )}</ul>`;
};

function Attach({ process, outputs, onChange }: Parts) {
  const [known, setKnown] = useState("");
  const attach = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const data = new FormData(form);
    const isDone = await attempt(async () => {
      const output_uuid = known !== "" ? known : await register(data);
      await windhover.attachOutput({ process_uuid: process.uuid, output_uuid });
    }, "Attached");
    if (isDone) {
      form.reset();
      setKnown("");
    }
    onChange();
  };
  return html`
    <details>
      <summary>Attach an output</summary>
      <form class="stack" onSubmit=${attach}>
        ${
          outputs.length > 0 &&
          html`<label>Which
            <select value=${known} onChange=${(event: Event) => setKnown(readChoice(event))}>
              <option value="">A new one</option>${outputs.map((output) => html`<option value=${output.uuid}>${output.alias} (${output.type})</option>`)}
            </select>
          </label>`
        }
        ${known === "" && html`<${NewOutput} />`}
        <div class="row"><button>Attach</button></div>
      </form>
    </details>
  `;
}

const NewOutput = () => html`
  <label>Stream path or RTMP address
    <input name="path" required placeholder="gate/processed" spellcheck="false" aria-describedby="path-help" />
  </label>
  <p id="path-help" class="hint">A path is served here by RTSP and WebRTC; an address such as <code>rtmp://server/live/key</code> is sent to.</p>
  <label>Resolution
    <select name="settings"><option value="">As the input</option><option>360p</option><option>720p</option><option>1080p</option></select>
  </label>
`;

async function register(form: FormData): Promise<string> {
  const path = String(form.get("path")).trim();
  const lines = String(form.get("settings"));
  const isRtmp = /^rtmps?:\/\//.test(path);
  const url = isRtmp || path.startsWith("rtsp://") ? path : `rtsp://${path}`;
  const settings = lines === "360p" || lines === "720p" || lines === "1080p" ? lines : null;
  const output = await windhover.registerOutput({
    body: { alias: path, type: isRtmp ? "rtmp" : "rtsp", url, settings },
  });
  return output.uuid;
}
