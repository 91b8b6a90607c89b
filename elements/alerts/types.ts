/** The alert types, and the check of a rule against its type. */
import {
  type AlertConfiguration,
  AlertRule,
  CONFIGURATION_FIELDS,
  type ConfigurationFault,
} from "../../schemas/alerts.ts";
import { checkConfiguration, findAlertType } from "../../schemas/check-alert.ts";
import { checkSchedule } from "../../schemas/schedule.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { AlertType } from "./alert-type.ts";
import { convoy } from "./convoy/convoy.ts";
import { filterSearch } from "./filter-search/filter-search.ts";
import { flowControl } from "./flow-control/flow-control.ts";
import { followTrack } from "./follow-track/follow-track.ts";
import { graphRule } from "./graph-rule/graph-rule.ts";
import { gridDensity } from "./grid-density/grid-density.ts";

export const ALERT_TYPES: readonly AlertType[] = [
  gridDensity,
  flowControl,
  followTrack,
  filterSearch,
  convoy,
  graphRule,
];

type CheckedRule =
  | { readonly type: AlertType; readonly configuration: Required<AlertConfiguration>; readonly faults?: never }
  | { readonly type?: never; readonly configuration?: never; readonly faults: readonly ConfigurationFault[] };

/** `rule` has passed `AlertRule`. Paths of faults are those of the configuration, and `/type`. With `classNames`, other classes are faults. */
export function checkRule(rule: AlertRule, classNames: readonly string[] | null = null): CheckedRule {
  const type = findAlertType(ALERT_TYPES, rule.type);
  if (typeof type === "string") return { faults: [{ path: "/type", message: type }] };
  const known = Object.keys(AlertRule.properties);
  const unknown = Object.keys(rule).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    return {
      faults: unknown.map((name) => ({
        path: `/${name}`,
        message: `is not known here; ${[...CONFIGURATION_FIELDS, "schedule"].join(", ")} are${didYouMean(name, known)}`,
      })),
    };
  const { alert: _, type: __, schedule, snapshot: ___, ...given } = rule;
  const { configuration, faults } = checkConfiguration(type, given, classNames);
  if (faults !== undefined) return { faults };
  const flaws = schedule === undefined ? [] : checkSchedule(schedule);
  if (flaws.length === 0) return { type, configuration };
  return { faults: flaws.map(({ path, message }) => ({ path: `/schedule${path}`, message })) };
}
