/** When an alert is evaluated: always, or in windows of the week. */
import { useState } from "preact/hooks";
import { Input, Select, useFault } from "../../components/form.ts";
import { html } from "../../html.ts";
import { DAYS, type Day, MIDNIGHT, newWindow, type ScheduleDraft, type WindowDraft } from "./setting-drafts.ts";

const MAX_WINDOWS = 32;

const CHOICES = [
  ["always", "Always"],
  ["windows", "At certain times"],
] as const;

interface ScheduleProps {
  readonly draft: ScheduleDraft;
  onChange(draft: ScheduleDraft): void;
}

export function ScheduleFields({ draft, onChange }: ScheduleProps) {
  const { timeZone, windows } = draft;
  const [zones] = useState(() => Intl.supportedValuesOf("timeZone"));
  const setWindows = (next: readonly WindowDraft[]) => onChange({ ...draft, windows: next });
  const replace = (window: WindowDraft) => setWindows(windows.map((one) => (one.id === window.id ? window : one)));
  const isAlways = windows.length === 0;
  return html`
    <section class="card stack">
      <h2>Schedule</h2>
      <${Select} label="Active" value=${isAlways ? "always" : "windows"} options=${CHOICES} onChange=${(choice: string) => setWindows(choice === "always" ? [] : [newWindow()])} />
      ${
        !isAlways &&
        html`
          ${windows.map((window, index) => html`<${WindowFields} key=${window.id} window=${window} index=${index} onChange=${replace} onRemove=${() => setWindows(windows.filter(({ id }) => id !== window.id))} />`)}
          ${windows.length < MAX_WINDOWS && html`<div class="row"><button type="button" onClick=${() => setWindows([...windows, newWindow()])}>Add times</button></div>`}
          <${Input} label="Time zone" path="/schedule/time_zone" value=${timeZone} onValue=${(value: string) => onChange({ ...draft, timeZone: value })} required list="time-zones" spellcheck="false" placeholder="Europe/Berlin" />
          <datalist id="time-zones">${zones.map((zone) => html`<option key=${zone} value=${zone}></option>`)}</datalist>
        `
      }
    </section>
  `;
}

interface WindowProps {
  readonly window: WindowDraft;
  readonly index: number;
  onChange(window: WindowDraft): void;
  onRemove(): void;
}

function WindowFields({ window, index, onChange, onRemove }: WindowProps) {
  const { days, from, to } = window;
  const at = `/schedule/windows/${index}`;
  const fault = useFault(`${at}/days`, "Days", null);
  const toggle = (day: Day) =>
    onChange({ ...window, days: days.includes(day) ? days.filter((one) => one !== day) : [...days, day] });
  return html`
    <div class="part stack" role="group" aria-label=${`Times ${index + 1}`}>
      <div class="days" role="group" aria-label="Days">
        ${DAYS.map(([day, short, name]) => html`<label key=${day} class="day"><input type="checkbox" aria-label=${name} ...${fault.attributes} checked=${days.includes(day)} onChange=${() => toggle(day)} />${short}</label>`)}
      </div>
      ${fault.text}
      <div class="row ends">
        <${Input} label="From" path=${`${at}/from`} type="time" required value=${from} onValue=${(value: string) => onChange({ ...window, from: value })} />
        <${Input} label="To" path=${`${at}/to`} type="time" required value=${to} onValue=${(value: string) => onChange({ ...window, to: value })} />
        <button type="button" class="plain" aria-label=${`Remove times ${index + 1}`} onClick=${onRemove}>Remove</button>
      </div>
      <p class="hint">${describeWindow(from, to)}</p>
    </div>
  `;
}

function describeWindow(from: string, to: string): string {
  if (from === MIDNIGHT && to === MIDNIGHT) return "The whole day.";
  if (to === MIDNIGHT) return "Until midnight.";
  return to < from ? "Ends on the next day." : "";
}
