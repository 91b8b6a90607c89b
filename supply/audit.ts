/**
 * Queries the npm registry for signatures of the installed packages and for known vulnerabilities of the packages of a
 * release. Exit code 1: a problem was found. A registry that does not respond or does not support this is reported, but
 * does not fail.
 *
 *   npm run audit
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export type AuditResult = "good" | "bad" | "unknown";

const CHECKS = [
  { title: "signatures", args: ["audit", "signatures"] },
  { title: "vulnerabilities", args: ["audit", "--omit=dev"] },
] as const;

const FOUND = {
  signatures: /\b(?:invalid|missing) (?:registry signature|attestation)/i,
  vulnerabilities: /\b[1-9]\d* (?:\w+ severity )?vulnerabilit/i,
} as const;

/** npm exits with 1 when it has found a problem, but also when the query failed. */
export function readAudit(title: keyof typeof FOUND, code: number | null, text: string): AuditResult {
  if (code === 0) return "good";
  return FOUND[title].test(text) ? "bad" : "unknown";
}

const MESSAGES: Readonly<Record<AuditResult, string>> = {
  good: "no problems found",
  bad: "PROBLEMS FOUND",
  unknown: "not checked: the registry did not respond or does not support it",
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { title, args } of CHECKS) {
    const cwd = fileURLToPath(new URL("..", import.meta.url));
    // Overrides `npm run --silent`, which would suppress the output.
    const { status, stdout, stderr } = spawnSync("npm", [...args, "--loglevel=warn"], {
      cwd,
      encoding: "utf8",
      timeout: 300_000,
    });
    const text = `${stdout}${stderr}`.trim();
    const result = readAudit(title, status, text);
    console.log(`${title}: ${MESSAGES[result]}\n${text.replaceAll(/^/gm, "  | ")}`);
    if (result === "bad") process.exitCode = 1;
  }
}
