/** Markdown building blocks. Pure. */

/** Escaped for a table cell. */
export const cell = (text: string): string =>
  text
    .replaceAll("|", "\\|")
    .split(/\n\s*/)
    .map((line) => line.trimEnd())
    .join(" ");

export const code = (text: string): string => (text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");

export const fence = (language: string, text: string): string => `\`\`\`${language}\n${text.trim()}\n\`\`\``;

/** The first line of a generated page: says that it must not be edited. */
export const made = (from: string): string => `<!-- Made by \`npm run generate\` from ${from}. -->`;
