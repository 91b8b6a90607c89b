/** What a type of alert does: the first sentence, and the rest for who wants to know. */
import { html } from "../../html.ts";
import { showCode } from "../../parts/schema-form.ts";

export const About = ({ text }: { text: string }) => {
  const [first = text] = /^.*?\.(?= |$)/.exec(text) ?? [];
  const rest = text.slice(first.length).trim();
  return html`
    <p>${showCode(first)}</p>
    ${rest !== "" && html`<details class="gap"><summary>How exactly</summary><p class="hint">${showCode(rest)}</p></details>`}
  `;
};
