/** The alerts of one process that is held here: what its runner evaluates, and whose findings count. */
import { type AlertConfiguration, type AlertRule, MOST_RULES } from "../../schemas/alerts.ts";
import type { Json } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import type { AlertNode } from "../graphs/library.ts";

export interface AppliedAlert {
  readonly uuid: string;
  readonly type: string;
  readonly configuration: AlertConfiguration;
}

export class ProcessAlerts {
  readonly #node: AlertNode;
  #alerts: ReadonlyMap<string, AppliedAlert> = new Map();
  #isKnown = false;
  #isSet = false;

  constructor(node: AlertNode) {
    this.#node = node;
  }

  /** What is to run here has been read. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Findings of others are of rules that the graph itself has, or of alerts that were stopped a moment ago. */
  has(alertUuid: string): boolean {
    return this.#alerts.has(alertUuid);
  }

  apply(alerts: readonly AppliedAlert[]): void {
    this.#alerts = new Map(alerts.map((alert) => [alert.uuid, alert]));
    this.#isKnown = true;
    this.#isSet ||= alerts.length > 0;
  }

  /** Nothing as long as there is nothing to say: the graph has its own rules. */
  get live(): LiveValues {
    if (!this.#isSet) return {};
    const rules = [...this.#alerts.values()].map(
      ({ uuid, type, configuration }): AlertRule => ({ alert: uuid, type, ...configuration }),
    );
    const all = [...this.#node.rules, ...rules].slice(0, MOST_RULES);
    return { [this.#node.name]: { rules: all as unknown as readonly Json[] } };
  }
}
