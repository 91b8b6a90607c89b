/** The form of an alert: its zone or line drawn on a frame, its conditions and its destination. */
import { useState } from "preact/hooks";
import type { Alert, AlertChange, AlertDescription, NewAlert, Process } from "../../../client/client.ts";
import { WebhookSecret } from "../../components/dialog.ts";
import { formatCode, Select, useSubmit } from "../../components/form.ts";
import { useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { Failed } from "../../components/states.ts";
import { showToast } from "../../components/toasts.ts";
import { html, type Markup } from "../../html.ts";
import { linkTo, navigate } from "../../router.ts";
import { windhover } from "../../session.ts";
import {
  Conditions,
  type Configuration,
  Destination,
  findChanges,
  readConditions,
  readDestinations,
  takesLine,
} from "./conditions.ts";
import { RegionCard } from "./draw-region.ts";
import { type Point, pointsOf, regionOf } from "./region.ts";

const TYPES = {
  "filter-search": "An object appears in a zone (filter-search)",
  "flow-control": "A line is crossed (flow-control)",
  "grid-density": "An area is crowded (grid-density)",
  "follow-track": "One object is followed (follow-track)",
} as const;
type TypeName = keyof typeof TYPES;

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
  const [secret, setSecret] = useState<string | null>(null);
  const save: Save = async (form, points, leave) => {
    const body: NewAlert = {
      ...{ alias: String(form.get("alias")).trim(), type: description.name as TypeName },
      ...{ output: readDestinations(form), region: regionOf(points, isLine) },
      ...readConditions(form, description),
    };
    const scope = String(form.get("scope"));
    const alert =
      scope === "" ? await windhover.registerAlert({ body }) : await windhover.addAlert({ uuid: scope, body });
    showToast(`${alert.alias} is active`);
    const created = alert.output.map(({ config }) => config.secret).find((one) => typeof one === "string");
    if (created === undefined) leave();
    else setSecret(String(created));
  };
  const scopes = [
    ["", "All processes, current and future"],
    ...processes.map((process) => [process.uuid, `Only ${nameOf(process)}`]),
  ];
  const target = html`<${Select} label="Applies to" name="scope" options=${scopes} /><${Destination} />`;
  return html`
    <${AlertForm} description=${description} processes=${processes} drawn=${isLine ? FIRST_LINE : []} action="Create" onSave=${save} target=${target} />
    ${secret !== null && html`<${WebhookSecret} secret=${secret} onClose=${() => navigate(linkTo("alerts"))} />`}
  `;
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
  const save: Save = async (form, points, leave) => {
    const isMoved = drawn !== null && JSON.stringify(drawn) !== JSON.stringify(points);
    const body: AlertChange = {
      alias: String(form.get("alias")).trim(),
      ...(isMoved && { region: regionOf(points, takesLine(description)) }),
      ...findChanges(description, current, readConditions(form, description)),
    };
    const force = form.get("force") !== null;
    const { alias, pending } = await windhover.changeAlert({ uuid: alert.uuid, force, body });
    showToast(pending === null ? `${alias} changed` : `${alias} changes with the next process start`);
    leave();
  };
  const apply = html`
    <label class="check"><input type="checkbox" name="force" defaultChecked aria-describedby="force-help" /> Apply now</label>
    <p class="hint" id="force-help">Running processes apply the change without a restart. Otherwise it applies from the next process start.</p>
  `;
  return html`
    <h1>Edit ${alert.alias}</h1>
    <${AlertForm} description=${description} processes=${own} drawn=${drawn} alert=${alert} current=${current} action="Save" onSave=${save} apply=${apply} />
  `;
}

type Save = (form: FormData, points: readonly Point[], leave: () => void) => Promise<void>;

interface AlertFormProps extends Context {
  /** Null: a geographic region, which cannot be drawn. */
  readonly drawn: readonly Point[] | null;
  readonly action: string;
  readonly onSave: Save;
  readonly alert?: Alert;
  readonly current?: Configuration;
  /** Fields above and below the conditions. */
  readonly target?: Markup;
  readonly apply?: Markup;
}

function AlertForm({ description, processes, drawn, alert, current = {}, ...props }: AlertFormProps) {
  const isLine = takesLine(description);
  const [points, setPoints] = useState<readonly Point[]>(drawn ?? []);
  const { error, isBusy, submit, clearError } = useSubmit((form, navigateTo) =>
    props.onSave(form, points, () => navigateTo(linkTo("alerts"))),
  );
  const draw = (next: readonly Point[]): void => {
    setPoints(next);
    clearError();
  };
  return html`
    <${About} text=${description.description} />
    ${alert?.pending && html`<p class="hint" role="status">A change applies from the next process start; it is shown here.</p>`}
    <form class="stack" onSubmit=${submit}>
      <div class="two">
        ${
          drawn === null
            ? html`<section class="card stack"><h2>${isLine ? "Line" : "Zone"}</h2><p>The region is in geographic coordinates. Change it with <code>PATCH /alert/${alert?.uuid}</code>.</p></section>`
            : html`<${RegionCard} points=${points} isLine=${isLine} processes=${processes} onChange=${draw} />`
        }
        <section class="card stack">
          <h2>Settings</h2>
          <label>Name <input name="alias" required maxlength="255" placeholder="Person at the gate" defaultValue=${alert?.alias} /></label>
          ${props.target}
          <${Conditions} description=${description} current=${current} />
          ${props.apply}
        </section>
      </div>
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button class="primary" disabled=${isBusy}>${props.action}</button><a class="button" href=${linkTo("alerts")}>Cancel</a></div>
    </form>
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
