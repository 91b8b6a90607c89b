/** The form of an alert: its zone or line drawn on a frame, its conditions, schedule, evidence and destinations. */
import { useState } from "preact/hooks";
import type {
  Alert,
  AlertChange,
  AlertDescription,
  AlertOutput,
  Evidence,
  NewAlert,
  Process,
  Schedule,
} from "../../../client/client.ts";
import { WebhookSecret } from "../../components/dialog.ts";
import { Faults, formatCode, Input, Select, useSubmit } from "../../components/form.ts";
import { useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { Failed } from "../../components/states.ts";
import { showToast } from "../../components/toasts.ts";
import { html, type Markup } from "../../html.ts";
import { linkTo, navigate } from "../../router.ts";
import { windhover } from "../../session.ts";
import { Conditions, findChanges, readConditions, takesLine } from "./conditions.ts";
import { toDraft, toOutputs } from "./destination-draft.ts";
import { Destinations } from "./destinations.ts";
import { RegionCard } from "./draw-region.ts";
import { EvidenceFields } from "./evidence.ts";
import { type Point, pointsOf, regionOf } from "./region.ts";
import { ScheduleFields } from "./schedule.ts";
import { toEvidence, toEvidenceDraft, toSchedule, toScheduleDraft } from "./setting-drafts.ts";

const TYPES = {
  "filter-search": "An object appears in a zone (filter-search)",
  "flow-control": "A line is crossed (flow-control)",
  "grid-density": "An area is crowded (grid-density)",
  "follow-track": "One object is followed (follow-track)",
  convoy: "Vehicles drive as a convoy (convoy)",
  "graph-rule": "A rule of the graph is met (graph-rule)",
} as const;
type TypeName = keyof typeof TYPES;

/** Stands for a stored secret. */
const MASK = "***";

const FIRST_LINE: readonly Point[] = [
  [0.2, 0.6],
  [0.8, 0.6],
];

const Breadcrumbs = () =>
  html`<nav aria-label="Breadcrumbs" class="crumbs"><a href=${linkTo("alerts")}>Alerts</a></nav>`;

interface Context {
  readonly description: AlertDescription;
  /** To draw on, and to choose from. */
  readonly processes: readonly Process[];
}

async function fetchContext(type: string, signal: AbortSignal): Promise<Context> {
  const [description, { processes }] = await Promise.all([
    windhover.describeAlertType({ name: type }, { signal }),
    windhover.listProcesses({}, { signal }).catch(() => ({ processes: [] })),
  ]);
  return { description, processes };
}

export function NewAlertPage() {
  const [type, setType] = useState<TypeName>("filter-search");
  const query = useQuery((signal) => fetchContext(type, signal), [type]);
  return html`
    <${Breadcrumbs} />
    <h1>New alert</h1>
    <${Select} class="narrow" label="Type" value=${type} onChange=${setType} options=${Object.entries(TYPES)} />
    ${whenLoaded(query, (context) => html`<${NewAlertForm} key=${context.description.name} ...${context} />`)}
  `;
}

function NewAlertForm({ description, processes }: Context) {
  const isLine = takesLine(description);
  const nameOf = useSourceNames();
  const save: Save = async (form, { alias, points, output, schedule, evidence }) => {
    const body: NewAlert = {
      ...{ alias, type: description.name as TypeName, region: regionOf(points, isLine) },
      ...readConditions(form, description),
      ...{ output, schedule, evidence },
    };
    const scope = String(form.get("scope"));
    const alert =
      scope === "" ? await windhover.registerAlert({ body }) : await windhover.addAlert({ uuid: scope, body });
    showToast(`${alert.alias} is active`);
    return alert;
  };
  const scopes = [
    ["", "All processes, current and future"],
    ...processes.map((process) => [process.uuid, `Only ${nameOf(process)}`]),
  ];
  const scope = html`<${Select} label="Applies to" name="scope" options=${scopes} />`;
  return html`<${AlertForm} description=${description} processes=${processes} drawn=${isLine ? FIRST_LINE : []} action="Create" onSave=${save} scope=${scope} />`;
}

export function EditAlertPage({ uuid }: { uuid: string }) {
  const query = useQuery(
    async (signal) => {
      const alert = await windhover.readAlert({ uuid }, { signal });
      return { alert, ...(await fetchContext(alert.type, signal)) };
    },
    [uuid],
  );
  return html`
    <${Breadcrumbs} />
    ${whenLoaded(query, (existing) => html`<${EditAlertForm} ...${existing} />`)}
  `;
}

function EditAlertForm({ alert, description, processes }: Context & { alert: Alert }) {
  // A pending change is what the next process start uses.
  const current = alert.pending ?? alert;
  const drawn = pointsOf(current.region);
  const own = alert.process_uuid === null ? processes : processes.filter(({ uuid }) => uuid === alert.process_uuid);
  const save: Save = async (form, { alias, points, ...parts }, before) => {
    const isMoved = drawn !== null && !isSame(drawn, points);
    const changed = (["output", "schedule", "evidence"] as const).filter((part) => !isSame(parts[part], before[part]));
    const body: AlertChange = {
      alias,
      ...(isMoved && { region: regionOf(points, takesLine(description)) }),
      ...findChanges(description, current, readConditions(form, description)),
      ...Object.fromEntries(changed.map((part) => [part, parts[part]])),
    };
    const force = form.get("force") !== null;
    const after = await windhover.changeAlert({ uuid: alert.uuid, force, body });
    showToast(after.pending === null ? `${alias} changed` : `${alias} changes with the next process start`);
    return after;
  };
  const apply = html`
    <label class="check"><input type="checkbox" name="force" defaultChecked aria-describedby="force-help" /> Apply now</label>
    <p class="hint" id="force-help">Running processes apply the change without a restart. Otherwise it applies from the next process start. A schedule applies at once in any case.</p>
  `;
  return html`
    <h1>Edit ${alert.alias}</h1>
    <${AlertForm} description=${description} processes=${own} drawn=${drawn} alert=${alert} action="Save" onSave=${save} apply=${apply} />
  `;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What the form has beside its conditions. */
interface Parts {
  readonly alias: string;
  readonly points: readonly Point[];
  readonly output: readonly AlertOutput[];
  readonly schedule: Schedule | null;
  readonly evidence: Evidence | null;
}

/** `before`: as the form was opened. */
type Save = (form: FormData, parts: Parts, before: Omit<Parts, "alias" | "points">) => Promise<Alert>;

interface AlertFormProps extends Context {
  /** Null: a geographic region, which cannot be drawn. */
  readonly drawn: readonly Point[] | null;
  readonly action: string;
  readonly onSave: Save;
  readonly alert?: Alert;
  /** Fields above and below the others. */
  readonly scope?: Markup;
  readonly apply?: Markup;
}

function AlertForm({ description, processes, drawn, alert, onSave, ...props }: AlertFormProps) {
  const isLine = takesLine(description);
  const current = alert?.pending ?? alert;
  const [alias, setAlias] = useState(alert?.alias ?? "");
  const [points, setPoints] = useState<readonly Point[]>(drawn ?? []);
  const [evidence, setEvidence] = useState(() => toEvidenceDraft(current?.evidence ?? null));
  const [schedule, setSchedule] = useState(() => toScheduleDraft(alert?.schedule ?? null));
  const [drafts, setDrafts] = useState(() => (current?.output ?? []).map(toDraft));
  const [secret, setSecret] = useState<string | null>(null);
  const read = () => ({ output: toOutputs(drafts), schedule: toSchedule(schedule), evidence: toEvidence(evidence) });
  const [before] = useState(read);
  const { error, isBusy, submit, clearError } = useSubmit(async (form, navigateTo) => {
    const { output } = await onSave(form, { alias: alias.trim(), points, ...read() }, before);
    const created = output.map(({ config }) => config.secret).find((one) => typeof one === "string" && one !== MASK);
    if (created === undefined) navigateTo(linkTo("alerts"));
    else setSecret(String(created));
  });
  const draw = (next: readonly Point[]): void => {
    setPoints(next);
    clearError();
  };
  // What the service says refers to the place in the list.
  const setDestinations = (next: typeof drafts): void => {
    setDrafts(next);
    if (next.length !== drafts.length) clearError();
  };
  const sample = {
    ...{ alias: alias.trim() === "" ? "Alert" : alias.trim(), type: description.name },
    evidence:
      toEvidence(evidence) === null ? null : { ...(evidence.hasClip && { clip: {} }), snapshot: evidence.hasSnapshot },
  };
  return html`
    <${About} text=${description.description} />
    ${alert?.pending && html`<p class="hint" role="status">A change applies from the next process start; it is shown here.</p>`}
    <form class="stack" onSubmit=${submit}>
      <${Faults.Provider} value=${error?.errors ?? []}>
        <div class="halves">
          ${
            drawn === null
              ? html`<section class="card stack"><h2>${isLine ? "Line" : "Zone"}</h2><p>The region is in geographic coordinates. Change it with <code>PATCH /alert/${alert?.uuid}</code>.</p></section>`
              : html`<${RegionCard} points=${points} isLine=${isLine} processes=${processes} onChange=${draw} />`
          }
          <section class="card stack">
            <h2>Settings</h2>
            <${Input} label="Name" path="/alias" required maxlength="255" placeholder="Person at the gate" value=${alias} onValue=${setAlias} />
            ${props.scope}
            <${Conditions} description=${description} current=${current ?? {}} />
          </section>
          <${ScheduleFields} draft=${schedule} onChange=${setSchedule} />
          <${EvidenceFields} draft=${evidence} onChange=${setEvidence} />
          <${Destinations} drafts=${drafts} sample=${sample} onChange=${setDestinations} />
        </div>
      </${Faults.Provider}>
      ${props.apply}
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button class="primary" disabled=${isBusy}>${props.action}</button><a class="button" href=${linkTo("alerts")}>Cancel</a></div>
    </form>
    ${secret !== null && html`<${WebhookSecret} secret=${secret} onClose=${() => navigate(linkTo("alerts"))} />`}
  `;
}

/** The description of an alert type: its first sentence, the rest on request. */
const About = ({ text }: { text: string }) => {
  const [first = text] = /^.*?\.(?= |$)/.exec(text) ?? [];
  const rest = text.slice(first.length).trim();
  return html`
    <p>${formatCode(first)}</p>
    ${rest !== "" && html`<details class="gap"><summary>Details</summary><p class="hint">${formatCode(rest)}</p></details>`}
  `;
};
