/** Where the notices of an alert are sent: any number of mails, webhooks and brokers, with a preview of what they get. */
import { useEffect, useState } from "preact/hooks";
import type { AlertPreview, AlertPreviewRequest, ApiError } from "../../../client/client.ts";
import { Input, Select } from "../../components/form.ts";
import { toSentence } from "../../components/format.ts";
import { html } from "../../html.ts";
import { toApiError } from "../../poller.ts";
import { windhover } from "../../session.ts";
import { choosePreset, type DestinationType, type Draft, newDraft, toSample } from "./destination-draft.ts";
import { OWN, PLAIN, PRESETS } from "./presets.ts";

const MAX_DESTINATIONS = 16;
const SETTLE_MS = 400;

const TYPES: readonly (readonly [DestinationType, string])[] = [
  ["email", "Mail"],
  ["webhook", "Webhook"],
  ["mqtt", "MQTT broker"],
];

/** What the sample of a preview has. */
export type Sample = Omit<AlertPreviewRequest, "output">;

interface DestinationsProps {
  readonly drafts: readonly Draft[];
  readonly sample: Sample;
  onChange(drafts: readonly Draft[]): void;
}

export function Destinations({ drafts, sample, onChange }: DestinationsProps) {
  const replace = (draft: Draft) => onChange(drafts.map((one) => (one.id === draft.id ? draft : one)));
  return html`
    <section class="card stack wide">
      <h2>Destinations</h2>
      <p class="hint">Notices appear on the pages Alerts and Review, and are kept there.${drafts.length === 0 && " No destination is needed."}</p>
      <div class="halves">${drafts.map(
        (draft, index) => html`
          <div key=${draft.id} class="part stack" role="group" aria-label=${`Destination ${index + 1}`}>
            <div class="row ends">
              <div><${Select} label="Send by" path=${`/output/${index}/type`} value=${draft.type} options=${TYPES} onChange=${(type: DestinationType) => replace({ ...draft, type })} /></div>
              <button type="button" class="plain" aria-label=${`Remove destination ${index + 1}`} onClick=${() => onChange(drafts.filter(({ id }) => id !== draft.id))}>Remove</button>
            </div>
            <${Fields} draft=${draft} index=${index} sample=${sample} onChange=${replace} />
          </div>
        `,
      )}</div>
      ${drafts.length < MAX_DESTINATIONS && html`<div class="row"><button type="button" onClick=${() => onChange([...drafts, newDraft()])}>Add a destination</button></div>`}
    </section>
  `;
}

interface FieldsProps {
  readonly draft: Draft;
  readonly index: number;
  readonly sample: Sample;
  onChange(draft: Draft): void;
}

const MASKED = "It is stored. Write another one to replace it.";

function Fields({ draft, index, sample, onChange }: FieldsProps) {
  const at = (field: string) => `/output/${index}/config/${field}`;
  const edit = (name: keyof Draft, path: string) => ({
    ...{ value: draft[name], path: at(path) },
    onValue: (value: string) => onChange({ ...draft, [name]: value }),
  });
  if (draft.type === "email")
    return html`
      <${Input} label="Addresses" ...${edit("to", "to")} type="email" multiple required placeholder="guard@example.org, night-shift@example.org" />
      <${Input} label="Subject" ...${edit("subject", "subject")} placeholder="{{ alert.alias }}: {{ event }}" />
      <${Input} label="Text" ...${edit("text", "text")} rows=${3} placeholder="Alias, event, time, tracks, and links to the evidence" hint=${PLACEHOLDERS} />
      <${Preview} draft=${draft} sample=${sample} />
    `;
  if (draft.type === "mqtt")
    return html`
      <${Input} label="Broker" ...${edit("host", "host")} required placeholder="broker.example:1883" />
      <${Input} label="Topic" ...${edit("topic", "topic")} required placeholder="alerts/gate" />
      <div class="pair">
        <${Input} label="User name" ...${edit("username", "username")} autocomplete="off" />
        <${Input} label="Password" ...${edit("password", "password")} type="password" autocomplete="new-password" hint=${draft.password === "***" && MASKED} />
      </div>
    `;
  const preset = PRESETS[draft.form];
  const forms = [
    [PLAIN, "The notification as JSON"],
    ...Object.entries(PRESETS).map(([name, { title }]) => [name, title]),
    [OWN, "Own template"],
  ];
  return html`
    <${Input} label="URL" ...${edit("url", "url")} type="url" required placeholder=${preset?.url ?? "https://example.com/alerts"} hint=${preset?.hint} />
    <${Select} label="Message" value=${draft.form} options=${forms} onChange=${(form: string) => onChange(choosePreset(draft, form))} />
    ${draft.form !== PLAIN && html`<${Template} draft=${draft} edit=${edit} />`}
    <${Preview} draft=${draft} sample=${sample} />
  `;
}

const PLACEHOLDERS = html`<span class="names"><code>${"{{ alert.alias }}"}</code>, <code>${"{{ event }}"}</code>, <code>${"{{ timestamp }}"}</code>, <code>${"{{ tracks.0.class_name }}"}</code> and others stand for values of the notice; with evidence also <code>${"{{ snapshot_url }}"}</code> and <code>${"{{ clip_url }}"}</code>.</span>`;

const CONTENT_TYPES = [
  ["application/json", "JSON"],
  ["text/plain", "Text"],
] as const;

type Edit = (name: keyof Draft, path: string) => { value: unknown; path: string; onValue: (value: string) => void };

const Template = ({ draft, edit }: { draft: Draft; edit: Edit }) => html`
  <${Input} label="Body" ...${edit("body", "template/body")} rows=${5} required spellcheck="false" class="code" hint=${PLACEHOLDERS} />
  <${Select} label="Format" value=${draft.contentType} options=${CONTENT_TYPES} onChange=${edit("contentType", "").onValue} />
  <${Input} label="Headers" ...${edit("headers", "template/headers")} rows=${3} spellcheck="false" class="code" placeholder="Authorization: Bearer …" hint="One on each line. Secret ones are shown as ***." />
`;

/** Rendered by the service, once the user stops typing. The last one stays while the next one is awaited. */
function Preview({ draft, sample }: { draft: Draft; sample: Sample }) {
  const [shown, setShown] = useState<AlertPreview["previews"][number] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const key = JSON.stringify([{ ...draft, url: "", to: "" }, sample]);
  useEffect(() => {
    const closing = new AbortController();
    const load = async (): Promise<void> => {
      try {
        const body = { ...sample, output: [toSample(draft)] };
        const { previews } = await windhover.previewAlert({ body }, { signal: closing.signal });
        setShown(previews[0] ?? null);
        setError(null);
      } catch (thrown) {
        if (!closing.signal.aborted) setError(toApiError(thrown));
      }
    };
    const timer = setTimeout(() => void load(), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [key]);
  const [fault] = error?.errors ?? [];
  return html`
    <div class="preview stack" role="group" aria-label="Preview">
      <h3>Preview</h3>
      ${error !== null && html`<p class="fault" role="status">${toSentence(fault?.message ?? error.message)}</p>`}
      ${error === null && shown?.subject && html`<p><strong>${shown.subject}</strong></p>`}
      ${error === null && shown !== null && html`<pre class="wrap">${shown.body}</pre>`}
    </div>
  `;
}
