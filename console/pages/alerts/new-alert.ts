/** A new alert: its type, its zone or line drawn on the picture, its conditions by their schema, and who is told. */
import { useEffect, useState } from "preact/hooks";
import type { AlertDescription, ApiError, NewAlert, Process } from "../../../client/client.ts";
import { toApiError, useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { takePicture } from "../../live/first-picture.ts";
import { Copyable } from "../../parts/copy.ts";
import { Dialog } from "../../parts/dialog.ts";
import { type ParamSchema, readParams, SchemaField } from "../../parts/schema-form.ts";
import { Failed, Loading, Shown } from "../../parts/states.ts";
import { say } from "../../parts/toasts.ts";
import { addressOf, go } from "../../router.ts";
import { windhover } from "../../session.ts";
import { DrawRegion, type Point } from "./draw-region.ts";

const TYPES = ["filter-search", "flow-control", "grid-density", "follow-track"] as const;
const PARTS = ["trigger", "parameters", "filter"] as const;

export function NewAlertPage() {
  const [type, setType] = useState<(typeof TYPES)[number]>("filter-search");
  const { asked, reload } = useAsked((signal) => windhover.describeAlertType({ name: type }, { signal }), [type]);
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("alerts")}>Alerts</a></nav>
    <h1>New alert</h1>
    <label class="narrow">Type
      <select value=${type} onChange=${(event: Event) => setType((event.currentTarget as HTMLSelectElement).value as typeof type)}>
        ${TYPES.map((name) => html`<option>${name}</option>`)}
      </select>
    </label>
    <${Shown} asked=${asked} onRetry=${reload}>${(description: AlertDescription) => html`<${Form} key=${description.name} description=${description} />`}</${Shown}>
  `;
}

const fieldsOf = (schema: Readonly<Record<string, unknown>>): Readonly<Record<string, ParamSchema>> =>
  (schema.properties ?? {}) as Readonly<Record<string, ParamSchema>>;

function Form({ description }: { description: AlertDescription }) {
  const isLine = "line" in fieldsOf(description.schemas.region) || description.name === "flow-control";
  const { asked } = useAsked((signal) => windhover.listProcesses({}, { signal }), []);
  const processes = "value" in asked ? (asked.value?.processes ?? []) : [];
  const [points, setPoints] = useState<readonly Point[]>(
    isLine
      ? [
          [0.2, 0.6],
          [0.8, 0.6],
        ]
      : [],
  );
  const [chosen, setChosen] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const shownProcess = chosen !== "" ? chosen : (processes[0]?.uuid ?? "");
  const create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setError(null);
    try {
      const body = readAlert(form, description, points, isLine);
      const scope = String(form.get("scope"));
      const alert =
        scope === "" ? await windhover.registerAlert({ body }) : await windhover.addAlert({ uuid: scope, body });
      say(`${alert.alias} is on`);
      const made = alert.output.map(({ config }) => config.secret).find((one) => typeof one === "string");
      if (made === undefined) go(addressOf("alerts"));
      else setSecret(String(made));
    } catch (fault) {
      setError(toApiError(fault));
      setBusy(false);
    }
  };
  return html`
    <p>${description.description}</p>
    <form class="stack" onSubmit=${create}>
      <div class="two">
        <section class="card stack">
          <h2>${isLine ? "Line" : "Zone"}</h2>
          ${
            processes.length > 0 &&
            html`<label>Picture of <select value=${shownProcess} onChange=${(event: Event) => setChosen((event.currentTarget as HTMLSelectElement).value)}>
              ${processes.map((process: Process) => html`<option value=${process.uuid}>${process.source_url}</option>`)}
            </select></label>`
          }
          <${Picture} key=${shownProcess} processUuid=${shownProcess} points=${points} isLine=${isLine} onChange=${setPoints} />
        </section>
        <section class="card stack">
          <label>Name <input name="alias" required maxlength="255" placeholder="Somebody at the gate" /></label>
          <label>On <select name="scope"><option value="">All processes, now and later</option>
            ${processes.map((process: Process) => html`<option value=${process.uuid}>Only ${process.source_url}</option>`)}</select></label>
          <${Told} />
          ${PARTS.filter((part) => Object.keys(fieldsOf(description.schemas[part])).length > 0).map(
            (
              part,
            ) => html`<details key=${part} open=${part === "trigger"}><summary>${part[0]?.toUpperCase()}${part.slice(1)}</summary><div class="stack">
              ${Object.entries(fieldsOf(description.schemas[part])).map(([name, schema]) => html`<${SchemaField} key=${name} name=${`${part}.${name}`} schema=${schema} />`)}
            </div></details>`,
          )}
        </section>
      </div>
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button class="primary" disabled=${isBusy}>Create</button></div>
    </form>
    ${
      secret !== null &&
      html`<${Dialog} title="The secret of its webhook" onClose=${() => go(addressOf("alerts"))}>
        <div class="body"><p>Calls are signed with it. It is shown only now.</p><${Copyable} label="secret" text=${secret} /></div>
        <footer><button type="button" class="primary" onClick=${() => go(addressOf("alerts"))}>Done</button></footer>
      </${Dialog}>`
    }
  `;
}

interface PictureParts {
  readonly processUuid: string;
  readonly points: readonly Point[];
  readonly isLine: boolean;
  onChange(points: readonly Point[]): void;
}

function Picture({ processUuid, points, isLine, onChange }: PictureParts) {
  const [picture, setPicture] = useState<string | null>(null);
  const [words, setWords] = useState<string | null>(
    processUuid === "" ? "No process runs, so there is no picture to draw on." : "…",
  );
  useEffect(() => {
    if (processUuid === "") return undefined;
    let address: string | null = null;
    let isGone = false;
    takePicture(processUuid).then(
      (taken) => {
        address = taken;
        if (isGone) return URL.revokeObjectURL(taken);
        setPicture(taken);
        setWords(null);
      },
      (error: Error) => setWords(error.message),
    );
    return () => {
      isGone = true;
      if (address !== null) URL.revokeObjectURL(address);
    };
  }, [processUuid]);
  return html`
    ${words === "…" ? html`<${Loading} what="Taking a picture" />` : words !== null && html`<p class="hint" role="status">${words}</p>`}
    <${DrawRegion} picture=${picture} points=${points} most=${isLine ? 2 : null} onChange=${onChange} />
  `;
}

function Told() {
  const [kind, setKind] = useState("mqtt");
  return html`
    <label>Who is told
      <select name="output" value=${kind} onChange=${(event: Event) => setKind((event.currentTarget as HTMLSelectElement).value)}>
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

function readAlert(
  form: FormData,
  { name, schemas }: AlertDescription,
  points: readonly Point[],
  isLine: boolean,
): NewAlert {
  const text = (field: string) => String(form.get(field) ?? "").trim();
  const part = (one: (typeof PARTS)[number]) => {
    const fields = fieldsOf(schemas[one]);
    const named = Object.fromEntries(Object.entries(fields).map(([field, schema]) => [`${one}.${field}`, schema]));
    const read = Object.entries(readParams(form, named)).map(([field, value]) => [field.slice(one.length + 1), value]);
    return read.length === 0 ? {} : { [one]: Object.fromEntries(read) };
  };
  const config = text("output") === "mqtt" ? { host: text("host"), topic: text("topic") } : { url: text("url") };
  return {
    alias: text("alias"),
    type: name as NewAlert["type"],
    output: [{ type: text("output") as "mqtt" | "webhook", config }],
    ...(points.length > 0 && { region: { type: "image", ...(isLine ? { line: points } : { polygon: points }) } }),
    ...part("trigger"),
    ...part("filter"),
    ...part("parameters"),
  };
}
