/** A schema of the events that TAK accepts, after the public Cursor on Target base schema and what TAK clients send. */
import assert from "node:assert/strict";
import type { ParsedElement } from "./parse-event.fixture.ts";

type Check = (value: string) => boolean;

const number =
  (least: number, most: number): Check =>
  (value) =>
    /^-?\d{1,8}(\.\d{1,8})?$/.test(value) && Number(value) >= least && Number(value) <= most;
const text: Check = (value) => value.length > 0 && value.length <= 512;
const time: Check = (value) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/.test(value) && !Number.isNaN(Date.parse(value));
/** Atoms: affiliation and battle dimension; bits: map items. */
const type: Check = (value) => /^(a-[upnfhs]-[PAGSUFX](-[A-Z0-9]{1,4}){0,8}|b(-[a-z0-9]{1,4}){1,8})$/.test(value);
const how: Check = (value) => /^[hm](-[a-z]{1,3}){1,4}$/.test(value);
/** 9999999 is "unknown". */
const metres: Check = (value) => number(0, 9_999_999)(value);
const port: Check = (value) => /^\d{1,5}$/.test(value) && Number(value) < 65_536;

interface ElementSchema {
  readonly attributes: Readonly<Record<string, Check>>;
  readonly children?: Readonly<Record<string, ElementSchema>>;
  /** Of its children, in any order; others may be missing. */
  readonly needs?: readonly string[];
  readonly hasText?: true;
}

const EVENT: ElementSchema = {
  attributes: { version: (value) => value === "2.0", uid: text, type, how, time, start: time, stale: time },
  needs: ["point", "detail"],
  children: {
    point: {
      attributes: {
        ...{ lat: number(-90, 90), lon: number(-180, 180), hae: number(-20_000, 9_999_999), ce: metres, le: metres },
      },
    },
    detail: {
      attributes: {},
      needs: ["contact"],
      children: {
        contact: { attributes: { callsign: text } },
        remarks: { attributes: {}, hasText: true },
        track: { attributes: { course: number(0, 360), speed: number(0, 100_000) } },
        link: {
          attributes: { uid: text, type, relation: (value) => /^[a-z]-[a-z]$/.test(value), production_time: time },
        },
        shape: {
          attributes: {},
          needs: ["ellipse"],
          children: { ellipse: { attributes: { major: metres, minor: metres, angle: number(0, 360) } } },
        },
        sensor: {
          attributes: {
            ...{ azimuth: number(0, 359.99), elevation: number(-90, 90), roll: number(-180, 180) },
            ...{ fov: number(0, 180), vfov: number(0, 180), range: metres, north: number(0, 360) },
            ...{ version: text, type: text, model: text },
          },
        },
        __video: {
          attributes: { uid: text, url: (value) => URL.canParse(value) },
          needs: ["ConnectionEntry"],
          children: {
            ConnectionEntry: {
              attributes: {
                ...{ uid: text, alias: text, protocol: text, address: text, port, path: text },
                ...{ roverPort: (value) => value === "-1", rtspReliable: port, ignoreEmbeddedKLV: text },
                ...{ networkTimeout: port, bufferTime: (value) => value === "-1" },
              },
            },
          },
        },
      },
    },
  },
};

/** Asserts that it is a valid event. */
export function checkEvent(event: ParsedElement): void {
  assert.equal(event.tag, "event");
  check(event, EVENT, "event");
  const { time: at = "", stale = "" } = event.attributes;
  assert.ok(Date.parse(stale) >= Date.parse(at), `${stale} is before ${at}`);
}

function check(element: ParsedElement, schema: ElementSchema, path: string): void {
  assert.deepEqual(
    Object.keys(element.attributes).sort(),
    Object.keys(schema.attributes).sort(),
    `attributes of ${path}`,
  );
  for (const [name, isValid] of Object.entries(schema.attributes)) {
    const value = element.attributes[name] ?? "";
    assert.ok(isValid(value), `${path} has ${name}="${value}"`);
  }
  assert.ok(schema.hasText === true || element.text.trim() === "", `${path} has the text "${element.text}"`);
  const tags = element.children.map(({ tag }) => tag);
  assert.equal(new Set(tags).size, tags.length, `${path} repeats an element: ${tags.join(", ")}`);
  for (const name of schema.needs ?? []) assert.ok(tags.includes(name), `${path} has no ${name}`);
  for (const child of element.children) {
    const known = schema.children?.[child.tag];
    assert.ok(known, `${path} has an element ${child.tag}`);
    check(child, known, `${path}/${child.tag}`);
  }
}
