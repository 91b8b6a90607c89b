/** For unknown paths: the path of the API that was probably meant. */
import { suggest } from "../../schemas/suggest.ts";

/** Longer ones are not compared. */
const MAX_LENGTH = 512;
/** Prefixes such as `/api/v1` have up to this many segments. */
const MAX_PREFIX = 3;

/** Templates whose parameters are in the same places, by their literal segments: `process//pause`. */
interface Shape {
  readonly isLiteral: readonly boolean[];
  readonly templates: ReadonlyMap<string, string>;
}

/** Returns a function that finds the template closest to a path, if one is close. */
export function suggestPaths(templates: readonly string[]): (path: string) => string | undefined {
  const shapes = groupByShape(templates);
  return (path) => {
    if (path.length > MAX_LENGTH) return undefined;
    const segments = path.split("/").filter((segment) => segment !== "");
    for (const shape of shapes) {
      if (shape.isLiteral.length !== segments.length) continue;
      const found = suggest(literalsOf(segments, shape), shape.templates.keys());
      if (found !== undefined) return shape.templates.get(found);
    }
    for (let prefix = 1; prefix <= Math.min(MAX_PREFIX, segments.length - 1); prefix++) {
      const rest = segments.slice(prefix);
      const shape = shapes.find(
        (one) => one.isLiteral.length === rest.length && one.templates.has(literalsOf(rest, one)),
      );
      if (shape !== undefined) return shape.templates.get(literalsOf(rest, shape));
    }
    return undefined;
  };
}

/** Those with the most literal segments first. */
function groupByShape(templates: readonly string[]): readonly Shape[] {
  const shapes = new Map<string, { isLiteral: boolean[]; templates: Map<string, string> }>();
  for (const template of templates) {
    const segments = template.split("/").slice(1);
    const isLiteral = segments.map((segment) => !segment.includes("{"));
    if (template === "/" || !isLiteral.includes(true)) continue;
    const shape = shapes.get(String(isLiteral)) ?? { isLiteral, templates: new Map() };
    shapes.set(String(isLiteral), shape);
    shape.templates.set(literalsOf(segments, shape), template);
  }
  const literals = ({ isLiteral }: Shape) => isLiteral.filter(Boolean).length;
  return [...shapes.values()].sort((a, b) => literals(b) - literals(a));
}

const literalsOf = (segments: readonly string[], { isLiteral }: Pick<Shape, "isLiteral">): string =>
  segments.map((segment, i) => (isLiteral[i] ? segment : "")).join("/");
