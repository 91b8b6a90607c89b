/** A new alert: its type, its zone or line drawn on the picture, its conditions, and who is told. */
import { useState } from "preact/hooks";
import type { AlertDescription, NewAlert, Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { readChoice } from "../../parts/choice.ts";
import { Copyable } from "../../parts/copy.ts";
import { Dialog } from "../../parts/dialog.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { Failed, Loading, Shown } from "../../parts/states.ts";
import { useSubmit } from "../../parts/submit.ts";
import { say } from "../../parts/toasts.ts";
import { addressOf, go } from "../../router.ts";
import { windhover } from "../../session.ts";
import { About } from "./about.ts";
import { Conditions, readConditions, takesLine } from "./conditions.ts";
import { RegionCard, useProcesses } from "./picture.ts";
import { type Point, regionOf } from "./region.ts";
import { readOutput, Told } from "./told.ts";

const TYPES = {
  "filter-search": "Something appears in a zone (filter-search)",
  "flow-control": "A line is crossed (flow-control)",
  "grid-density": "It is crowded somewhere (grid-density)",
  "follow-track": "One object is followed (follow-track)",
} as const;
type TypeName = keyof typeof TYPES;

const FIRST_LINE: readonly Point[] = [
  [0.2, 0.6],
  [0.8, 0.6],
];

export function NewAlertPage() {
  const [type, setType] = useState<TypeName>("filter-search");
  const processes = useProcesses();
  const { asked, reload } = useAsked((signal) => windhover.describeAlertType({ name: type }, { signal }), [type]);
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("alerts")}>Alerts</a></nav>
    <h1>New alert</h1>
    <label class="narrow">Type
      <select value=${type} onChange=${(event: Event) => setType(readChoice(event) as TypeName)}>
        ${Object.entries(TYPES).map(([name, words]) => html`<option value=${name}>${words}</option>`)}
      </select>
    </label>
    ${
      processes === null
        ? html`<${Loading} />`
        : html`<${Shown} asked=${asked} onRetry=${reload}>${(description: AlertDescription) => html`<${Form} key=${description.name} description=${description} processes=${processes} />`}</${Shown}>`
    }
  `;
}

function Form({ description, processes }: { description: AlertDescription; processes: readonly Process[] }) {
  const isLine = takesLine(description);
  const [points, setPoints] = useState<readonly Point[]>(isLine ? FIRST_LINE : []);
  const nameOf = useSourceNames();
  const [secret, setSecret] = useState<string | null>(null);
  const { error, isBusy, submit, forget } = useSubmit(async (form, goOn) => {
    const body: NewAlert = {
      ...{ alias: String(form.get("alias")).trim(), type: description.name as TypeName },
      ...{ output: [readOutput(form)], region: regionOf(points, isLine) },
      ...readConditions(form, description),
    };
    const scope = String(form.get("scope"));
    const alert =
      scope === "" ? await windhover.registerAlert({ body }) : await windhover.addAlert({ uuid: scope, body });
    say(`${alert.alias} is on`);
    const made = alert.output.map(({ config }) => config.secret).find((one) => typeof one === "string");
    if (made === undefined) goOn(addressOf("alerts"));
    else setSecret(String(made));
  });
  const draw = (next: readonly Point[]): void => {
    setPoints(next);
    forget();
  };
  return html`
    <${About} text=${description.description} />
    <form class="stack" onSubmit=${submit}>
      <div class="two">
        <${RegionCard} points=${points} isLine=${isLine} processes=${processes} onChange=${draw} />
        <section class="card stack">
          <h2>What it does</h2>
          <label>Name <input name="alias" required maxlength="255" placeholder="Somebody at the gate" /></label>
          <label>On <select name="scope"><option value="">All processes, now and later</option>
            ${processes.map((process) => html`<option value=${process.uuid}>Only ${nameOf(process)}</option>`)}</select></label>
          <${Told} />
          <${Conditions} description=${description} />
        </section>
      </div>
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button class="primary" disabled=${isBusy}>Create</button><a class="button" href=${addressOf("alerts")}>Cancel</a></div>
    </form>
    ${secret !== null && html`<${Secret} secret=${secret} />`}
  `;
}

const Secret = ({ secret }: { secret: string }) => html`
  <${Dialog} title="The secret of its webhook" onClose=${() => go(addressOf("alerts"))}>
    <div class="body"><p>Calls are signed with it. It is shown only now.</p><${Copyable} label="secret" text=${secret} /></div>
    <footer><button type="button" class="primary" onClick=${() => go(addressOf("alerts"))}>Done</button></footer>
  </${Dialog}>
`;
