/** Starts the demo and opens its process. Shown only to operators, who are the only ones allowed to start it. */
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.ts";
import { linkTo } from "../router.ts";
import { windhover } from "../session.ts";
import { useSubmit } from "./form.ts";
import { useQuery } from "./query.ts";
import { Failed, Loading } from "./states.ts";

const POLL_MS = 1_000;
/** The first start downloads and converts the clip; the service gives up after 15 minutes. */
const TIMEOUT_MS = 20 * 60_000;

const STAGES: Readonly<Record<string, string>> = {
  fetching: "Downloading the clip (first start only)",
  converting: "Converting the clip (first start only)",
};

export function DemoButton() {
  const demo = useQuery((signal) => windhover.readDemo({ signal }), []);
  const { error, isBusy, submit } = useSubmit(async (_, navigate) => {
    const { process_uuid } = await windhover.startDemo({ limitMs: TIMEOUT_MS });
    navigate(linkTo("processes", process_uuid));
  });
  if (demo.value === undefined) return null;
  return html`
    <form class="demo" onSubmit=${submit}>
      ${
        isBusy
          ? html`<${Progress} />`
          : html`
              <button class="primary">Show me a demo</button>
              <p class="hint">Detects people in a clip of a street, played as a live camera.</p>
            `
      }
      ${error !== null && html`<${Failed} error=${error} />`}
    </form>
  `;
}

function Progress() {
  const { value } = useQuery((signal) => windhover.readDemo({ signal }), [], POLL_MS);
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const stage = STAGES[value?.state ?? ""] ?? "Starting";
  // Hidden from screen readers, which would announce every second.
  return html`<div class="row"><${Loading} what=${stage} /><span class="hint" aria-hidden="true">${seconds} s</span></div>`;
}
