/** The outputs of a process: attached ones with their addresses, and a form to attach more. */
import { useState } from "preact/hooks";
import type { Output, Process } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { attempt, Copyable } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";
import { CotFields, readCotOutput } from "./cot-output.ts";

const POLL_MS = 3_000;
const RESOLUTIONS = ["360p", "720p", "1080p"] as const;
const CODECS = [
  ["h264", "H.264 (plays in browsers)"],
  ["h265", "H.265 (lower bit rate; most browsers do not play it)"],
] as const;

export function Outputs({ process, onChange }: { process: Process; onChange: () => void }) {
  const query = useQuery((signal) => windhover.listOutputs({}, { signal }), [process.uuid], POLL_MS);
  const reload = () => {
    query.reload();
    onChange();
  };
  return html`
    <section class="card stack" aria-label="Outputs">
      <h2>Outputs</h2>
      ${whenLoaded(
        query,
        ({ outputs }) => html`
          <${Attached} process=${process} outputs=${outputs.filter((output) => output.attached_to === process.uuid)} onChange=${reload} />
          <${Attach} process=${process} outputs=${outputs.filter((output) => output.attached_to === null)} onChange=${reload} />
        `,
      )}
    </section>
  `;
}

interface OutputsProps {
  readonly process: Process;
  readonly outputs: readonly Output[];
  onChange(): void;
}

const Attached = ({ process, outputs, onChange }: OutputsProps) => {
  if (outputs.length === 0) return html`<p class="hint">No outputs attached.</p>`;
  const detach = async ({ uuid: output_uuid, alias }: Output): Promise<void> => {
    await attempt(() => windhover.detachOutput({ process_uuid: process.uuid, output_uuid }), `${alias} detached`);
    onChange();
  };
  return html`<ul class="plain-list">${outputs.map(
    (output) => html`
      <li key=${output.uuid}>
        <div class="row spread"><strong>${output.alias}</strong><span class="state ${output.status}">${output.status}</span></div>
        <${Copyable} label=${`address of ${output.alias}`} text=${output.play_url ?? output.url ?? output.type} />
        ${output.status_detail !== null && html`<p class="hint">${output.status_detail}</p>`}
        <div class="row">
          ${output.codec === "h265" && html`<span class="hint">H.265</span>`}
          ${output.webrtc_url !== undefined && html`<a class="button" target="_blank" href=${output.webrtc_url}>Watch</a>`}
          <button type="button" class="plain" aria-label=${`Detach ${output.alias}`} onClick=${() => void detach(output)}>Detach</button>
        </div>
      </li>
    `,
  )}</ul>`;
};

function Attach({ process, outputs, onChange }: OutputsProps) {
  const [existing, setExisting] = useState("");
  const attach = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const data = new FormData(form);
    const isDone = await attempt(async () => {
      const output_uuid = existing !== "" ? existing : await register(data);
      await windhover.attachOutput({ process_uuid: process.uuid, output_uuid });
    }, "Attached");
    if (isDone) {
      form.reset();
      setExisting("");
    }
    onChange();
  };
  const options = [["", "New output"], ...outputs.map(({ uuid, alias, type }) => [uuid, `${alias} (${type})`])];
  return html`
    <details>
      <summary>Attach an output</summary>
      <form class="stack" onSubmit=${attach}>
        ${outputs.length > 0 && html`<${Select} label="Output" value=${existing} onChange=${setExisting} options=${options} />`}
        ${existing === "" && html`<${NewOutput} />`}
        <div class="row"><button>Attach</button></div>
      </form>
    </details>
  `;
}

const KINDS = [
  ["video", "Video stream"],
  ["cot", "TAK: objects on maps (Cursor on Target)"],
] as const;

function NewOutput() {
  const [kind, setKind] = useState<string>(KINDS[0][0]);
  return html`
    <${Select} label="Type" name="kind" value=${kind} onChange=${setKind} options=${KINDS} />
    ${kind === "cot" ? html`<${CotFields} />` : html`<${VideoFields} />`}
  `;
}

const VideoFields = () => html`
  <label>Stream path, RTMP or SRT address
    <input name="path" required placeholder="gate/processed" spellcheck="false" aria-describedby="path-help" />
  </label>
  <p id="path-help" class="hint">A path is served here over RTSP and WebRTC; to an address such as <code>rtmp://server/live/key</code> or <code>srt://server:9000</code>, the stream is sent.</p>
  <${Select} label="Resolution" name="settings" options=${[["", "Same as the input"], ...RESOLUTIONS.map((one) => [one, one])]} />
  <${Select} label="Codec" name="codec" options=${CODECS} />
  <label class="check"><input name="boxes" type="checkbox" checked /> Boxes and labels</label>
  <label class="check"><input name="audio" type="checkbox" /> Sound of the source</label>
`;

async function register(form: FormData): Promise<string> {
  if (form.get("kind") === "cot") return (await windhover.registerOutput({ body: readCotOutput(form) })).uuid;
  const path = String(form.get("path")).trim();
  const remote = (["rtmp", "srt"] as const).find(
    (type) => path.startsWith(`${type}://`) || path.startsWith(`${type}s://`),
  );
  const url = remote !== undefined || path.startsWith("rtsp://") ? path : `rtsp://${path}`;
  const settings = RESOLUTIONS.find((one) => one === form.get("settings")) ?? null;
  const codec = form.get("codec") === "h265" ? "h265" : "h264";
  const choices = { settings, codec, boxes: form.get("boxes") !== null, audio: form.get("audio") !== null } as const;
  const output = await windhover.registerOutput({ body: { alias: path, type: remote ?? "rtsp", url, ...choices } });
  return output.uuid;
}
