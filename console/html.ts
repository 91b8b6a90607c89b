/** Markup as tagged templates: no compiler between what is written and what runs. */
import htm from "htm";
import { h, type VNode } from "preact";

export type Markup = VNode | VNode[] | string | number | null | false | undefined;

export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
