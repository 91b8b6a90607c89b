/**
 * Fields that several types have, each with what it means there. Whatever has a default may be left out, which the
 * published schemas say; evaluators get it filled in.
 */
import { Type } from "typebox";

const DAY_SECONDS = 86_400;

export const seconds = (description: string, fallback: number, least = 0) =>
  Type.Optional(Type.Number({ default: fallback, minimum: least, maximum: DAY_SECONDS, description }));

export const count = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ default: fallback, minimum: 1, maximum: 1000, description }));

/** Of a type that has nothing to say here. */
export const none = (description: string) => Type.Object({}, { additionalProperties: false, description });

/** Where the notices of an example go. */
export const exampleOutput = (topic: string) => [{ type: "mqtt", config: { host: "192.168.1.10:1883", topic } }];
