/** The rules in force: checked, each at work. */
import { isDeepStrictEqual } from "node:util";
import type { AlertRule } from "../../schemas/alerts.ts";
import type { Evaluator } from "./alert-type.ts";
import { checkRule } from "./types.ts";

export interface RuleAtWork {
  readonly alert: string;
  readonly type: string;
  /** With all defaults. */
  readonly configuration: unknown;
  readonly evaluator: Evaluator;
}

const MOST_FAULTS_SHOWN = 5;

/** Those that say the same as before go on as they were; others begin anew. Throws with what is wrong, and changes nothing. */
export function openRules(rules: readonly AlertRule[], before: readonly RuleAtWork[] = []): readonly RuleAtWork[] {
  const known = new Map(before.map((rule) => [rule.alert, rule]));
  const opened = new Map<string, RuleAtWork>();
  for (const [index, rule] of rules.entries()) {
    const which = `rule ${index + 1}, "${rule.alert}"`;
    if (opened.has(rule.alert))
      throw new Error(`${which}: another rule is called the same; expected names that differ`);
    const { type, configuration, faults } = checkRule(rule);
    if (faults !== undefined) throw new Error(`${which}: ${listFaults(faults)}`);
    const old = known.get(rule.alert);
    const isSame = old?.type === type.name && isDeepStrictEqual(old.configuration, configuration);
    opened.set(
      rule.alert,
      isSame ? old : { alert: rule.alert, type: type.name, configuration, evaluator: type.create(configuration) },
    );
  }
  return [...opened.values()];
}

function listFaults(faults: readonly { readonly path: string; readonly message: string }[]): string {
  const shown = faults.slice(0, MOST_FAULTS_SHOWN).map(({ path, message }) => `${path.slice(1)} ${message}`);
  const more = faults.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}
