/** One click to a street with boxes on it. Shown to those alone who may ask for it: whoever runs the service. */
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../../client/client.ts";
import { toApiError } from "../asker.ts";
import { useAsked } from "../asking.ts";
import { html } from "../html.ts";
import { addressOf, goFrom, place } from "../router.ts";
import { windhover } from "../session.ts";
import { Failed, Loading } from "./states.ts";

const LOOK_MS = 1_000;
/** The first time the clip is fetched and converted, which the service gives up after a quarter of an hour. */
const LIMIT_MS = 20 * 60_000;

const STAGES: Readonly<Record<string, string>> = {
  fetching: "Fetching the clip, once",
  converting: "Preparing the clip, once",
  starting: "Starting",
};

export function DemoButton() {
  const { asked } = useAsked((signal) => windhover.readDemo({ signal }), []);
  const [isAsked, setAsked] = useState(false);
  const [fault, setFault] = useState<ApiError | null>(null);
  if (asked.state !== "known") return null;
  const begin = async (): Promise<void> => {
    setAsked(true);
    setFault(null);
    const { value: here } = place;
    try {
      const { process_uuid } = await windhover.startDemo({ limitMs: LIMIT_MS });
      goFrom(here, addressOf("processes", process_uuid));
    } catch (error) {
      setFault(toApiError(error));
      setAsked(false);
    }
  };
  return html`
    <div class="demo">
      ${
        isAsked
          ? html`<${Progress} />`
          : html`
              <button type="button" class="primary" onClick=${begin}>Show me a demo</button>
              <p class="hint">A clip of a street as a live camera, with people found in it.</p>
            `
      }
      ${fault !== null && html`<${Failed} error=${fault} />`}
    </div>
  `;
}

function Progress() {
  const { asked } = useAsked((signal) => windhover.readDemo({ signal }), [], LOOK_MS);
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((value) => value + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const stage = (asked.state === "known" && STAGES[asked.value.state]) || "Starting";
  // The seconds are for the eye alone: a screen reader would say every one of them.
  return html`<div class="row"><${Loading} what=${stage} /><span class="hint" aria-hidden="true">${seconds} s</span></div>`;
}
