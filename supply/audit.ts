/**
 * Asks the registry of npm whether the installed packages are the ones that were published and signed, and for known
 * vulnerabilities of those of a release. Exit code 1: something was found. A registry that does not answer, or offers no
 * such thing, is reported and is no failure.
 *
 *   npm run audit
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export type Verdict = "good" | "bad" | "unknown";

const CHECKS = [
  { title: "signatures", args: ["audit", "signatures"] },
  { title: "vulnerabilities", args: ["audit", "--omit=dev"] },
] as const;

const FOUND = {
  signatures: /\b(?:invalid|missing) (?:registry signature|attestation)/i,
  vulnerabilities: /\b[1-9]\d* (?:\w+ severity )?vulnerabilit/i,
} as const;

/** npm ends with 1 when it has found something, and also when it could not ask. */
export function judge(title: keyof typeof FOUND, code: number | null, text: string): Verdict {
  if (code === 0) return "good";
  return FOUND[title].test(text) ? "bad" : "unknown";
}

const WORDS: Readonly<Record<Verdict, string>> = {
  good: "nothing found",
  bad: "FOUND",
  unknown: "not checked: the registry did not answer, or does not offer it",
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { title, args } of CHECKS) {
    const cwd = fileURLToPath(new URL("..", import.meta.url));
    // Under `npm run --silent` it would say nothing, and what it says is judged.
    const { status, stdout, stderr } = spawnSync("npm", [...args, "--loglevel=warn"], {
      cwd,
      encoding: "utf8",
      timeout: 300_000,
    });
    const text = `${stdout}${stderr}`.trim();
    const verdict = judge(title, status, text);
    console.log(`${title}: ${WORDS[verdict]}\n${text.replaceAll(/^/gm, "  | ")}`);
    if (verdict === "bad") process.exitCode = 1;
  }
}
