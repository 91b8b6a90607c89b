/** Alerts that are written in a text, as bodies of `POST /alert`: validated as the API does, with the positions of their faults. */
import type { FaultList } from "../../graphs/compiler/fault.ts";
import { type LocatedMap, locatePointer, showPointer } from "../../graphs/compiler/located.ts";
import {
  type AlertConfiguration,
  type AlertRule,
  type AlertTypeDefinition,
  CONFIGURATION_FIELDS,
  MOST_RULES,
} from "../../schemas/alerts.ts";
import { newAlertOf } from "../../schemas/api/alerts.ts";
import { checkConfiguration, findAlertType } from "../../schemas/check-alert.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { checkSchedule, type Schedule } from "../../schemas/schedule.ts";
import { isUuid, uuidOf } from "../uuid.ts";
import { checkAndFillBy } from "../validation.ts";
import { checkOutputs, type GivenOutput } from "./outputs.ts";

export interface WrittenBody {
  readonly value: JsonRecord;
  readonly at: LocatedMap;
}

/** A body of `POST /alert`, or an alert of a listing. */
export interface WrittenAlert {
  readonly uuid: string;
  readonly alias: string;
  readonly type: string;
  readonly configuration: Required<AlertConfiguration>;
  readonly schedule: Schedule | null;
  readonly output: readonly JsonRecord[];
  readonly isActive: boolean;
}

type AddFault = (path: string, message: string) => void;

/** Returns the alerts without faults. `classNames` null: any class is accepted. */
export type CheckAlerts = (
  bodies: readonly WrittenBody[],
  classNames: readonly string[] | null,
  faults: FaultList,
) => readonly WrittenAlert[];

/** @param types of alerts that there are */
export function checkAlertsOf(types: readonly AlertTypeDefinition[]): CheckAlerts {
  const checkBody = checkAndFillBy(newAlertOf(types));

  function readAlert(
    { value }: WrittenBody,
    classNames: readonly string[] | null,
    taken: Set<string>,
    addFault: AddFault,
  ): WrittenAlert | null {
    const type = findType(types, value, addFault);
    if (type === null) return null;
    const shape = checkBody(structuredClone(value));
    for (const { path, message } of shape) addFault(path, message);
    if (shape.length > 0) return null;
    const output = (value.output ?? []) as unknown as readonly GivenOutput[];
    const flaws = checkOutputs(output);
    for (const { path, message } of flaws) addFault(path, message);
    const schedule = (value.schedule ?? null) as unknown as Schedule | null;
    const late = schedule === null ? [] : checkSchedule(schedule);
    for (const { path, message } of late) addFault(`/schedule${path}`, message);
    const { configuration, faults } = checkConfiguration(type, pickConfiguration(value), classNames);
    for (const { path, message } of faults ?? []) addFault(path, message);
    if (configuration === undefined || flaws.length > 0 || late.length > 0) return null;
    const alias = String(value.alias);
    return {
      uuid: identify(value, alias, taken),
      alias,
      type: type.name,
      configuration,
      schedule,
      output: output as unknown as readonly JsonRecord[],
      isActive: value.status !== "inactive",
    };
  }

  return (bodies, classNames, faults) => {
    const taken = new Set<string>();
    const alerts = bodies.flatMap((body) => {
      const alert = readAlert(body, classNames, taken, (path, message) =>
        faults.add("bad_property", locatePointer(body.at, path), `${showPointer(path)} ${message}`.trim()),
      );
      return alert === null ? [] : [alert];
    });
    const [first] = bodies;
    if (first !== undefined && alerts.filter(({ isActive }) => isActive).length > MOST_RULES)
      faults.add("document_shape", first.at.at, `the list has ${alerts.length} alerts`, {
        expected: `up to ${MOST_RULES} active alerts`,
      });
    return alerts;
  };
}

/** Checked first: the other fields depend on it. */
function findType(
  types: readonly AlertTypeDefinition[],
  { type }: JsonRecord,
  addFault: AddFault,
): AlertTypeDefinition | null {
  if (typeof type !== "string") {
    const names = types.map(({ name }) => name).join(", ");
    addFault("/type", type === undefined ? `is missing; expected ${names}` : `is not a string; expected ${names}`);
    return null;
  }
  const found = findAlertType(types, type);
  if (typeof found !== "string") return found;
  addFault("/type", found);
  return null;
}

const pickConfiguration = (value: JsonRecord): AlertConfiguration =>
  Object.fromEntries(
    CONFIGURATION_FIELDS.flatMap((field) => (value[field] === undefined ? [] : [[field, value[field]]])),
  );

/** Its own uuid if that is unique in the text, else one derived from its alias. */
function identify(value: JsonRecord, alias: string, taken: Set<string>): string {
  const own = value.uuid ?? value.alert_uuid;
  let uuid = isUuid(own) ? own : uuidOf("alert", alias);
  for (let number = 2; taken.has(uuid); number++) uuid = uuidOf("alert", alias, String(number));
  taken.add(uuid);
  return uuid;
}

export const ruleOf = ({ uuid, type, configuration, schedule }: WrittenAlert): AlertRule => ({
  ...{ alert: uuid, type, ...configuration },
  ...(schedule !== null && { schedule }),
});
