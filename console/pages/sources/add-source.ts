/** The dialogs that add a source: an uploaded video, or the address of a stream. */
import { useRef, useState } from "preact/hooks";
import { ApiError, type NewStream, readProblem, type Source } from "../../../client/client.ts";
import { FormDialog } from "../../components/dialog.ts";
import { Select, useSubmit } from "../../components/form.ts";
import { formatBytes } from "../../components/format.ts";
import { showToast } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { base, keyHeaders, windhover } from "../../session.ts";

interface AddProps {
  onClose(): void;
  onDone(): void;
}

export function UploadVideo({ onClose, onDone }: AddProps) {
  /** Fraction of the file that was sent. */
  const [progress, setProgress] = useState(0);
  const [file, setFile] = useState<File | null>(null);
  const upload = useRef<Upload | null>(null);
  const { isBusy, ...form } = useSubmit(async (data) => {
    if (file === null) return;
    setProgress(0);
    upload.current = startUpload(file, data, setProgress);
    const source = await upload.current.done;
    showToast(`${source.alias} added`);
    onDone();
  });
  const close = () => {
    upload.current?.cancel();
    onClose();
  };
  return html`
    <${FormDialog} title="Upload a video" action="Upload" ...${form} isBusy=${isBusy || file === null} onClose=${close}>
      <label>File
        <input type="file" required accept=".mp4,.mov,.avi,.ts,.mkv,.webm,video/mp4,video/quicktime,video/x-msvideo,video/mp2t,video/x-matroska,video/webm" disabled=${isBusy}
          onChange=${(event: Event) => setFile((event.currentTarget as HTMLInputElement).files?.[0] ?? null)} />
      </label>
      <p class="hint">mp4, mov, avi, ts, mkv or webm${file === null ? "" : ` · ${formatBytes(file.size)}`}</p>
      <label>Name <input name="alias" maxlength="255" placeholder=${file?.name ?? "the name of the file"} disabled=${isBusy} /></label>
      <label>Telemetry of the flight (optional)
        <input type="file" name="telemetry" accept=".srt,.csv,.tlog,.ndjson,.jsonl,.json,.txt" disabled=${isBusy} aria-describedby="telemetry-help" />
      </label>
      <p id="telemetry-help" class="hint">DJI subtitles, a flight log as CSV, a MAVLink .tlog, or one JSON message per line</p>
      <label class="check"><input name="loop" type="checkbox" disabled=${isBusy} /> Play in a loop, as a live source</label>
      ${isBusy && html`<${Progress} value=${progress} />`}
    </${FormDialog}>
  `;
}

/** After the last byte, the service checks the video. */
const Progress = ({ value }: { value: number }) => html`
  <div>
    <progress max="1" value=${value < 1 ? value : undefined} aria-label="Upload"></progress>
    <p class="hint" role="status">${value < 1 ? `${Math.floor(value * 100)} %` : "Checking the video…"}</p>
  </div>
`;

interface Upload {
  /** Rejects with `ApiError`. */
  readonly done: Promise<Source>;
  cancel(): void;
}

/** By `XMLHttpRequest`: `fetch` does not report the progress of uploads. */
function startUpload(file: File, given: FormData, onProgress: (fraction: number) => void): Upload {
  const request = new XMLHttpRequest();
  const form = new FormData();
  const alias = String(given.get("alias")).trim();
  if (alias !== "") form.set("alias", alias);
  if (given.has("loop")) form.set("loop", "true");
  const telemetry = given.get("telemetry");
  if (telemetry instanceof File && telemetry.size > 0) form.set("telemetry", telemetry);
  form.set("file", file);
  const done = new Promise<Source>((resolve, reject) => {
    const fail = (detail: string) => reject(new ApiError(0, { code: "no_answer", detail }));
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    request.onerror = () => fail("connection lost; the upload was discarded");
    request.onabort = () => fail("upload cancelled");
    request.onload = () => {
      const { status, response } = request;
      if (status >= 200 && status < 300 && response !== null) resolve(response);
      else reject(new ApiError(status, readProblem(response), request.getResponseHeader("Retry-After")));
    };
  });
  request.open("POST", `${base}/video`);
  request.responseType = "json";
  for (const [name, value] of Object.entries(keyHeaders())) request.setRequestHeader(name, value);
  request.send(form);
  return { done, cancel: () => request.abort() };
}

const TELEMETRY = [
  ["none", "None"],
  ["websocket", "WebSocket, sent by a client"],
  ["mqtt", "MQTT, from a broker"],
  ["udp", "MAVLink over UDP, sent by the drone"],
  ["embedded", "In the stream, as KLV (MISB ST 0601)"],
];
const FORMATS = [
  ["native", "Native"],
  ["vendor_a", "vendor_a"],
];

export function AddStream({ onClose, onDone }: AddProps) {
  const [telemetry, setTelemetry] = useState("none");
  const form = useSubmit(async (data) => {
    const { alias } = await windhover.registerStream({ body: readStream(data) });
    showToast(`${alias} added`);
    onDone();
  });
  return html`
    <${FormDialog} title="Add a stream" action="Add" ...${form} onClose=${onClose}>
      <label>Name <input name="alias" required maxlength="255" autofocus placeholder="Gate camera" /></label>
      <label>Address
        <input name="input_url" required maxlength="2048" type="url" pattern="(rtsps?|rtmps?|srt|udp)://.+" spellcheck="false"
          placeholder="rtsp://user:password@camera.example/stream" aria-describedby="address-help" />
      </label>
      <p id="address-help" class="hint">A camera to pull from, or an address of this service that a drone publishes to.</p>
      <${Select} label="Telemetry" name="telemetry" value=${telemetry} onChange=${setTelemetry} options=${TELEMETRY} />
      ${["mqtt", "websocket"].includes(telemetry) && html`<${Select} label="Message format" name="format" options=${FORMATS} />`}
      ${telemetry === "mqtt" && html`<${Broker} />`}
      ${telemetry === "udp" && html`<${UdpPort} />`}
    </${FormDialog}>
  `;
}

const Broker = () => html`
  <label>Broker <input name="ip" required placeholder="broker.example" /></label>
  <label>Port <input name="port" type="number" min="1" max="65535" value="1883" required /></label>
  <label>Topic <input name="topic" required placeholder="drone/telemetry" /></label>
`;

const UdpPort = () => html`
  <label>Port <input name="port" type="number" min="1" max="65535" value="14550" required aria-describedby="udp-help" /></label>
  <label>Address of the drone <input name="sender" required placeholder="192.0.2.10" spellcheck="false" /></label>
  <p id="udp-help" class="hint">The drone sends MAVLink to this port of the service; other senders are ignored.</p>
`;

function readStream(form: FormData): NewStream {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const type = text("telemetry");
  const port = Number(text("port"));
  const telemetry_cfg = {
    none: null,
    websocket: { type, format: text("format") },
    mqtt: { type, format: text("format"), parameters: { ip: text("ip"), port, topic: text("topic") } },
    udp: { type, parameters: { port, sender: text("sender") } },
    embedded: { type },
  }[type];
  return {
    alias: text("alias"),
    input_url: text("input_url"),
    stream_type: (["rtmp", "srt", "udp"] as const).find((type) => text("input_url").startsWith(type)) ?? "rtsp",
    telemetry_cfg: telemetry_cfg as NonNullable<NewStream["telemetry_cfg"]> | null,
  };
}
