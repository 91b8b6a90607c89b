/** Markup as tagged templates, without a compiler. */
import htm from "htm";
import { h, type VNode } from "preact";

export type Markup = VNode | VNode[] | string | number | null | false | undefined;

export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
