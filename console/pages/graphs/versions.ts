/** The versions of a graph that this key has stored, and the differences between two of them. */
import { useState } from "preact/hooks";
import type { GraphVersion } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";
import { diffLines, foldSame } from "./line-diff.ts";

export function Versions({ name }: { name: string }) {
  const query = useQuery((signal) => windhover.listGraphVersions({ name }, { signal }), [name]);
  return html`
    <h2>Versions</h2>
    ${whenLoaded(query, ({ versions }) => html`<${VersionList} name=${name} versions=${versions} />`)}
  `;
}

interface VersionsProps {
  readonly name: string;
  /** Newest first. */
  readonly versions: readonly GraphVersion[];
}

const describeVersion = ({ version, created_at, is_current, author }: GraphVersion): string =>
  `${version}${is_current ? " (current)" : ""}: ${formatTime(created_at)}, ${author}`;

function VersionList({ name, versions }: VersionsProps) {
  const [newest, before = newest] = versions.map(({ version }) => String(version));
  const [from, setFrom] = useState(before ?? "");
  const [to, setTo] = useState(newest ?? "");
  const options = versions.map((version) => [String(version.version), describeVersion(version)]);
  return html`
    <div class="row">
      <${Select} label="Compare" value=${from} onChange=${setFrom} options=${options} />
      <${Select} label="with" value=${to} onChange=${setTo} options=${options} />
    </div>
    <${Differences} name=${name} from=${from} to=${to} />
  `;
}

function Differences({ name, from, to }: { name: string; from: string; to: string }) {
  const query = useQuery(
    (signal) => Promise.all([from, to].map((version) => windhover.getGraphVersion({ name, version }, { signal }))),
    [name, from, to],
  );
  return whenLoaded(query, ([before, after]) => {
    const lines = foldSame(diffLines(before?.yaml ?? "", after?.yaml ?? ""));
    if (!lines.some((line) => line !== null && line.kind !== "same")) return html`<p class="hint">The same text.</p>`;
    return html`<pre class="card scroll diff" tabindex="0" aria-label="Differences">${lines.map((line) =>
      line === null
        ? html`<span class="hint">…${"\n"}</span>`
        : html`<${SIGNS[line.kind].tag}>${SIGNS[line.kind].sign} ${line.text}${"\n"}</${SIGNS[line.kind].tag}>`,
    )}</pre>`;
  });
}

/** `del` and `ins` are known to screen readers. */
const SIGNS = {
  same: { tag: "span", sign: " " },
  removed: { tag: "del", sign: "-" },
  added: { tag: "ins", sign: "+" },
} as const;
