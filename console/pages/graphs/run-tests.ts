/** Runs the tests of the text in the editor, as a version of the graph, and shows what they have found. */
import { useState } from "preact/hooks";
import type { Graph, GraphTestReport } from "../../../client/client.ts";
import { useSubmit } from "../../components/form.ts";
import { formatCount } from "../../components/format.ts";
import { Failed } from "../../components/states.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";
import type { Mark } from "./editor.ts";
import { readGraphName } from "./graph-name.ts";

/** What was found of a text. */
export interface Tested {
  readonly text: string;
  readonly failures: readonly Mark[];
}

interface RunProps {
  /** That the text is a copy of, or a change to. */
  readonly graph: Graph;
  readonly isValid: boolean;
  readonly text: string;
  /** The last text that was saved on this page. */
  readonly stored: { readonly name: string; readonly text: string } | null;
  onStored(stored: { readonly name: string; readonly text: string }): void;
  onTested(tested: Tested): void;
  onShow(mark: Mark): void;
}

type Result = GraphTestReport["tests"][number];

export function RunTests({ graph, isValid, text, stored, onStored, onTested, onShow }: RunProps) {
  const [report, setReport] = useState<(GraphTestReport & { readonly text: string }) | null>(null);
  const name = readGraphName(text);
  const isInstalled = name === graph.name && graph.origin === "installed";
  // Stored under this name.
  const isSame = text === stored?.text || (text === graph.yaml && stored?.name !== graph.name);
  const { error, isBusy, submit } = useSubmit(async () => {
    if (!isSame) {
      await windhover.storeGraph({ name: name ?? "", body: text });
      onStored({ name: name ?? "", text });
    }
    const found = await windhover.testGraph({ name: name ?? "" });
    setReport({ ...found, text });
    onTested({ text, failures: found.tests.flatMap(({ failures }) => failures) });
  });
  if (!/^tests:/m.test(text)) return null;
  const isOther = isInstalled && !isSame;
  const label = isSame ? "Run the tests" : `Save as ${name ?? "a graph"} and run the tests`;
  return html`
    ${error !== null && html`<${Failed} error=${error} />`}
    <form class="row foot" onSubmit=${submit}>
      <button disabled=${!isValid || isBusy || name === null || isOther}>${isBusy ? "Running the tests…" : label}</button>
    </form>
    ${report !== null && html`<${Report} report=${report} isOld=${report.text !== text} onShow=${onShow} />`}
  `;
}

interface ReportProps {
  readonly report: GraphTestReport;
  /** The text has changed since. */
  readonly isOld: boolean;
  onShow(mark: Mark): void;
}

function Report({ report: { tests, version }, isOld, onShow }: ReportProps) {
  const failed = tests.filter(({ passed }) => !passed).length;
  const total =
    failed === 0
      ? `${formatCount(tests.length, "test")} passed`
      : `${failed} of ${formatCount(tests.length, "test")} failed`;
  return html`
    <section class="card tests" aria-label="Results of the tests">
      <p role="status"><strong>${total}</strong>${version !== null && ` (version ${version})`}${isOld && html` <span class="hint">The text has changed since.</span>`}</p>
      <ul>${tests.map((test) => html`<${TestLine} key=${test.name} test=${test} onShow=${onShow} />`)}</ul>
    </section>
  `;
}

const TestLine = ({ test, onShow }: { test: Result; onShow(mark: Mark): void }) => html`
  <li class=${test.passed ? "met" : "missed"}>
    <strong>${test.name}</strong> ${test.passed ? "passed" : "failed"} <span class="hint">${test.seconds.toFixed(1)} s</span>
    <ul>
      ${test.numbers.map(({ key, found, expected, passed, ...place }) => html`<li key=${key} class=${passed ? "met" : "missed"}>${!passed && html`<${Line} place=${{ ...place, message: "" }} onShow=${onShow} /> `}<code>${key}</code> is ${found}, expected ${expected}</li>`)}
      ${test.numbers.every(({ passed }) => passed) && test.failures.map((failure) => html`<li key=${failure.message} class="missed"><${Line} place=${failure} onShow=${onShow} /> ${failure.message}</li>`)}
    </ul>
  </li>
`;

const Line = ({ place, onShow }: { place: Mark; onShow(mark: Mark): void }) => html`
  <button type="button" class="plain link" onClick=${() => onShow(place)}>Line ${place.line}</button>
`;
