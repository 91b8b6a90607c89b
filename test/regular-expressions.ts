/** Finds every regular expression in the sources: literals, `new RegExp(…)`, and patterns of schemas. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Node, SyntaxKind } from "typescript/unstable/ast";
import {
  isCallExpression,
  isIdentifier,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isRegularExpressionLiteral,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { isTest } from "./import-rules.ts";

export interface Expression {
  readonly path: string;
  /** `/a+/i`. Null: computed at run time. */
  readonly text: string | null;
}

/** A constant by its name: of the file, or else of any other. */
type FindConstant = (name: string) => Node | undefined;

export function findExpressions(root: string): readonly Expression[] {
  const files = parseAll(root);
  const shared = new Map(files.flatMap(({ constants }) => [...constants]));
  return files.flatMap(({ path, nodes, constants }) => {
    const find: FindConstant = (name) => constants.get(name) ?? shared.get(name);
    return nodes.flatMap((node) => {
      const text = readExpression(node, find);
      return text === undefined ? [] : [{ path, text }];
    });
  });
}

interface ParsedFile {
  readonly path: string;
  /** Those that may be a regular expression. */
  readonly nodes: readonly Node[];
  readonly constants: ReadonlyMap<string, Node>;
}

/** Parses without resolving imports or checking types. */
function parseAll(root: string): readonly ParsedFile[] {
  const folder = mkdtempSync(join(tmpdir(), "windhover-expressions-"));
  const config = join(folder, "tsconfig.json");
  const options = { allowJs: true, noResolve: true, noLib: true, types: [], module: "nodenext", target: "esnext" };
  const tests = ["test", ...["test", "soak", "fixture", "child"].map((kind) => `**/*.${kind}.ts`)];
  const exclude = ["node_modules", "build", "data", "client/dist", ...tests].map((name) => join(root, name));
  const include = ["ts", "mjs", "js"].map((ending) => join(root, `**/*.${ending}`));
  writeFileSync(config, JSON.stringify({ compilerOptions: options, include, exclude }));
  const api = new API({ cwd: folder });
  try {
    const project = api.updateSnapshot({ openProject: config }).getProject(config);
    if (project === undefined) throw new Error("TypeScript did not load the project");
    return project.program.getSourceFileNames().flatMap((name) => {
      const path = relative(root, name);
      const file = isTest(path) ? undefined : project.program.getSourceFile(name);
      return file === undefined ? [] : [{ path, ...collect(file) }];
    });
  } finally {
    api.close();
    rmSync(folder, { recursive: true });
  }
}

const KINDS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.NewExpression,
  SyntaxKind.CallExpression,
  SyntaxKind.PropertyAssignment,
]);

function collect(file: Node): Omit<ParsedFile, "path"> {
  const nodes: Node[] = [];
  const constants = new Map<string, Node>();
  const visit = (node: Node): void => {
    if (KINDS.has(node.kind)) nodes.push(node);
    if (isVariableDeclaration(node) && isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(node.name.text, node.initializer);
    node.forEachChild(visit);
  };
  visit(file);
  return { nodes, constants };
}

/** Undefined when the node is not a regular expression. */
function readExpression(node: Node, find: FindConstant): string | null | undefined {
  if (isRegularExpressionLiteral(node)) return node.text;
  if ((isNewExpression(node) || isCallExpression(node)) && isNamed(node.expression, "RegExp")) {
    const [source, flags] = node.arguments ?? [];
    return write(source, flags === undefined ? "" : readText(flags, find), find);
  }
  // With the flag that ajv uses.
  if (isPropertyAssignment(node) && isIdentifier(node.name) && node.name.text === "pattern")
    return isText(node.initializer, find) ? write(node.initializer, "u", find) : undefined;
  return undefined;
}

const isNamed = (node: Node, name: string): boolean => isIdentifier(node) && node.text === name;

/** Whether the value of `pattern` is text, and so the pattern of a schema. */
const isText = (node: Node, find: FindConstant): boolean =>
  [SyntaxKind.StringLiteral, SyntaxKind.NoSubstitutionTemplateLiteral, SyntaxKind.TemplateExpression].includes(
    isIdentifier(node) ? (find(node.text)?.kind ?? SyntaxKind.Unknown) : node.kind,
  );

function write(source: Node | undefined, flags: string | null, find: FindConstant): string | null {
  const text = source === undefined ? null : readText(source, find);
  return text === null || flags === null ? null : new RegExp(text, flags).toString();
}

/** Null when it is only known at run time. */
function readText(node: Node, find: FindConstant): string | null {
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (isIdentifier(node)) {
    const value = find(node.text);
    return value === undefined ? null : readText(value, find);
  }
  if (isPropertyAccessExpression(node) && isNamed(node.name, "source") && isIdentifier(node.expression)) {
    const value = find(node.expression.text);
    return value !== undefined && isRegularExpressionLiteral(value) ? sourceOf(value.text) : null;
  }
  if (!isTemplateExpression(node)) return null;
  let text: string | null = node.head.text;
  for (const { expression, literal } of node.templateSpans) {
    const part = readText(expression, find);
    text = text === null || part === null ? null : text + part + literal.text;
  }
  return text;
}

const sourceOf = (literal: string): string => literal.slice(1, literal.lastIndexOf("/"));
