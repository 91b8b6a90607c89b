import { useState } from "preact/hooks";
import type { ApiError, NewStream } from "../../../client/client.ts";
import { toApiError } from "../../asker.ts";
import { html } from "../../html.ts";
import { Dialog } from "../../parts/dialog.ts";
import { Failed } from "../../parts/states.ts";
import { say } from "../../parts/toasts.ts";
import { windhover } from "../../session.ts";

type Telemetry = "none" | "mqtt" | "websocket";

export function AddStream({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<ApiError | null>(null);
  const [telemetry, setTelemetry] = useState<Telemetry>("none");
  const [isBusy, setBusy] = useState(false);
  const add = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const source = await windhover.registerStream({
        body: readStream(new FormData(event.currentTarget as HTMLFormElement)),
      });
      say(`${source.alias} is there`);
      onDone();
    } catch (fault) {
      setError(toApiError(fault));
      setBusy(false);
    }
  };
  return html`
    <${Dialog} title="Add a stream" onClose=${onClose}>
      <form onSubmit=${add}>
        <div class="body">
          <label>Name <input name="alias" required maxlength="255" autofocus placeholder="Gate camera" /></label>
          <label>Address
            <input name="input_url" required maxlength="2048" type="url" pattern="rtsps?://.+|rtmps?://.+" spellcheck="false"
              placeholder="rtsp://user:password@camera.example/stream" aria-describedby="address-help" />
          </label>
          <p id="address-help" class="hint">Of a camera that is pulled from, or an address of this service that a drone publishes to.</p>
          <label>Telemetry
            <select name="telemetry" value=${telemetry} onChange=${(event: Event) => setTelemetry((event.currentTarget as HTMLSelectElement).value as Telemetry)}>
              <option value="none">None</option>
              <option value="websocket">By websocket, from a client</option>
              <option value="mqtt">By MQTT, from a broker</option>
            </select>
          </label>
          ${telemetry !== "none" && html`<${Format} />`}
          ${telemetry === "mqtt" && html`<${Broker} />`}
          ${error !== null && html`<${Failed} error=${error} />`}
        </div>
        <footer>
          <button type="button" onClick=${onClose}>Cancel</button>
          <button class="primary" disabled=${isBusy}>Add</button>
        </footer>
      </form>
    </${Dialog}>
  `;
}

const Format = () => html`
  <label>Messages
    <select name="format"><option value="native">Native</option><option value="vendor_a">vendor_a</option></select>
  </label>
`;

const Broker = () => html`
  <label>Broker <input name="ip" required placeholder="broker.example" /></label>
  <label>Port <input name="port" type="number" min="1" max="65535" value="1883" required /></label>
  <label>Topic <input name="topic" required placeholder="drone/telemetry" /></label>
`;

function readStream(form: FormData): NewStream {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const type = text("telemetry");
  const parameters = { ip: text("ip"), port: Number(text("port")), topic: text("topic") };
  const telemetry_cfg =
    type === "none" ? null : { type, format: text("format"), ...(type === "mqtt" && { parameters }) };
  return {
    alias: text("alias"),
    input_url: text("input_url"),
    stream_type: text("input_url").startsWith("rtmp") ? "rtmp" : "rtsp",
    telemetry_cfg: telemetry_cfg as NonNullable<NewStream["telemetry_cfg"]> | null,
  };
}
