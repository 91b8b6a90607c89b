/** Fields of a new output for TAK: objects and the camera as Cursor on Target events. */
import { useState } from "preact/hooks";
import type { TakSettings } from "../../../client/client.ts";
import { html } from "../../html.ts";

export function CotFields() {
  const [url, setUrl] = useState("");
  const onInput = ({ currentTarget }: Event): void => setUrl((currentTarget as HTMLInputElement).value);
  return html`
    <label>Address
      <input name="cot-url" required placeholder="tls://tak.example.org:8089" spellcheck="false" aria-describedby="cot-help" onInput=${onInput} />
    </label>
    <p id="cot-help" class="hint"><code>tls://server:8089</code> or <code>tcp://server:8087</code> for a TAK server, <code>udp://239.2.3.1:6969</code> for clients in the network, <code>mqtt://broker/topic</code> for a broker.</p>
    <label>Callsign of the camera (empty: the name of the output)<input name="callsign" maxlength="40" /></label>
    <label class="check"><input name="camera" type="checkbox" checked /> Send the camera: its position, what it sees, where it looks</label>
    <label>Video address for TAK clients (empty: none)<input name="video_url" placeholder="rtsp://server:8554/gate/processed" spellcheck="false" /></label>
    ${url.trim().startsWith("tls://") && html`<${TlsFields} />`}
  `;
}

const PEM = "-----BEGIN …";

const TlsFields = () => html`
  <label>Certificate of this client, PEM (empty: none)<textarea name="certificate" rows="3" placeholder=${PEM} spellcheck="false"></textarea></label>
  <label>Its private key, PEM, not encrypted<textarea name="key" rows="3" placeholder=${PEM} spellcheck="false" autocomplete="off"></textarea></label>
  <label>Certificates of the authorities of the server, PEM (empty: the public ones)<textarea name="authorities" rows="3" placeholder=${PEM} spellcheck="false"></textarea></label>
  <label>Name in the server's certificate (empty: the host)<input name="server_name" spellcheck="false" /></label>
`;

const TEXTS = ["callsign", "video_url", "certificate", "key", "authorities", "server_name"] as const;

/** The body of `POST /output`. Empty fields are left out: they have defaults. */
export function readCotOutput(form: FormData) {
  const textOf = (name: string): string => String(form.get(name) ?? "").trim();
  const url = textOf("cot-url");
  const texts = TEXTS.map((name) => [name, textOf(name)] as const).filter(([, text]) => text !== "");
  const tak: TakSettings = { ...Object.fromEntries(texts), camera: form.get("camera") !== null };
  // Not the address: it may have a password.
  const host = URL.canParse(url) ? new URL(url).host : "";
  return { alias: tak.callsign ?? `TAK ${host}`.trim(), type: "cot" as const, url, tak };
}
