/** Who is told: one broker or one web address. */
import { useState } from "preact/hooks";
import type { AlertOutput } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { readChoice } from "../../parts/choice.ts";

export function Told() {
  const [kind, setKind] = useState("mqtt");
  return html`
    <label>Who is told
      <select name="output" value=${kind} onChange=${(event: Event) => setKind(readChoice(event))}>
        <option value="mqtt">A broker (MQTT)</option><option value="webhook">A web address</option>
      </select>
    </label>
    ${
      kind === "mqtt"
        ? html`<label>Broker <input name="host" required placeholder="broker.example:1883" /></label><label>Topic <input name="topic" required placeholder="alerts/gate" /></label>`
        : html`<label>Address <input name="url" type="url" required placeholder="https://example.com/alerts" /></label>`
    }
  `;
}

export function readOutput(form: FormData): AlertOutput {
  const text = (field: string) => String(form.get(field) ?? "").trim();
  return text("output") === "mqtt"
    ? { type: "mqtt", config: { host: text("host"), topic: text("topic") } }
    : { type: "webhook", config: { url: text("url") } };
}
