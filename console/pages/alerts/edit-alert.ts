/** An alert that is there: its name, zone or line and conditions can be changed, also under running processes. */
import { useState } from "preact/hooks";
import type { Alert, AlertChange, AlertDescription, Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Failed, Loading, Shown } from "../../parts/states.ts";
import { useSubmit } from "../../parts/submit.ts";
import { say } from "../../parts/toasts.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { About } from "./about.ts";
import { Conditions, findChanges, readConditions, takesLine } from "./conditions.ts";
import { RegionCard, useProcesses } from "./picture.ts";
import { type Point, pointsOf, regionOf } from "./region.ts";

interface Known {
  readonly alert: Alert;
  readonly description: AlertDescription;
}

export function EditAlertPage({ uuid }: { uuid: string }) {
  const processes = useProcesses();
  const { asked, reload } = useAsked(
    async (signal): Promise<Known> => {
      const alert = await windhover.readAlert({ uuid }, { signal });
      return { alert, description: await windhover.describeAlertType({ name: alert.type }, { signal }) };
    },
    [uuid],
  );
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("alerts")}>Alerts</a></nav>
    ${processes === null ? html`<${Loading} />` : html`<${Shown} asked=${asked} onRetry=${reload}>${(known: Known) => html`<${Form} ...${known} processes=${processes} />`}</${Shown}>`}
  `;
}

function Form({ alert, description, processes }: Known & { processes: readonly Process[] }) {
  const isLine = takesLine(description);
  // What waits is what the next start has.
  const now = alert.pending ?? alert;
  const drawn = pointsOf(now.region);
  const [points, setPoints] = useState<readonly Point[]>(drawn ?? []);
  const own = alert.process_uuid === null ? processes : processes.filter(({ uuid }) => uuid === alert.process_uuid);
  const { error, isBusy, submit, forget } = useSubmit(async (form, goOn) => {
    const body: AlertChange = {
      alias: String(form.get("alias")).trim(),
      ...(drawn !== null && JSON.stringify(drawn) !== JSON.stringify(points) && { region: regionOf(points, isLine) }),
      ...findChanges(description, now, readConditions(form, description)),
    };
    const force = form.get("force") !== null;
    const { alias, pending } = await windhover.changeAlert({ uuid: alert.uuid, force, body });
    say(pending === null ? `${alias} is changed` : `${alias} changes with the next start of a process`);
    goOn(addressOf("alerts"));
  });
  const draw = (next: readonly Point[]): void => {
    setPoints(next);
    forget();
  };
  return html`
    <h1>Change ${alert.alias}</h1>
    <${About} text=${description.description} />
    ${alert.pending !== null && html`<p class="hint" role="status">A change waits for the next start of a process; it is shown here.</p>`}
    <form class="stack" onSubmit=${submit}>
      <div class="two">
        ${
          drawn === null
            ? html`<section class="card stack"><h2>${isLine ? "Line" : "Zone"}</h2><p>It lies on the map, in degrees. It stays as it is; <code>PATCH /alert/${alert.uuid}</code> can change it.</p></section>`
            : html`<${RegionCard} points=${points} isLine=${isLine} processes=${own} onChange=${draw} />`
        }
        <section class="card stack">
          <h2>What it does</h2>
          <label>Name <input name="alias" required maxlength="255" defaultValue=${alert.alias} /></label>
          <${Conditions} description=${description} now=${now} />
          <label class="check"><input type="checkbox" name="force" defaultChecked aria-describedby="force-help" /> Apply now</label>
          <p class="hint" id="force-help">Running processes take the change at once and do not stop for it. Without, it waits for the next start of a process.</p>
        </section>
      </div>
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button class="primary" disabled=${isBusy}>Save</button><a class="button" href=${addressOf("alerts")}>Cancel</a></div>
    </form>
  `;
}
