import type { LegResult, SuiteRevision } from "./legs.ts";
import { notFollowed, unrepresentable } from "./reasons.ts";

/** A server leg in which the server behind Postern speaks another revision than the client. */
export interface MixedResult extends LegResult {
  readonly upstream: SuiteRevision;
}

/** What a whole run found. */
export interface Findings {
  readonly legs: readonly LegResult[];
  readonly mixed: readonly MixedResult[];
}

const passedOf = ({ required, failed }: LegResult): number => required - failed.size;

export function asJson({ legs, mixed }: Findings): string {
  const rowOf = (result: LegResult): object => {
    const { leg, revision, required, failed } = result;
    return { leg, revision, passed: passedOf(result), required, failed: [...failed.keys()] };
  };
  return JSON.stringify({
    legs: legs.map(rowOf),
    mixed: mixed.map((result) => ({ ...rowOf(result), upstream: result.upstream })),
  });
}

function sumOf({ legs }: Findings): string {
  const passed = legs.reduce((sum, result) => sum + passedOf(result), 0);
  return `${passed} of ${legs.reduce((sum, { required }) => sum + required, 0)}`;
}

const scoreOf = (result: LegResult): string => `${passedOf(result)} of ${result.required}`;

export function asText(findings: Findings): string {
  const { legs, mixed } = findings;
  const rows = [
    ...legs.map((result) => [result.leg, result.revision, scoreOf(result)]),
    ...mixed.map((result) => [result.leg, `${result.revision}, behind it ${result.upstream}`, scoreOf(result)]),
  ];
  return `${table(["leg", "revision", "passed"], rows)}\n${sumOf(findings)} required scenarios pass.`;
}

/** What makes a run fail, in sentences. */
export function problemsOf({ legs, mixed }: Findings): readonly string[] {
  const failed = legs.flatMap((result) => lines(result, result.failed));
  const unexplained = mixed.flatMap((result) => lines(result, result.failed, unrepresentable));
  const unused = [
    ...Object.keys(unrepresentable).filter((name) => !mixed.some((result) => result.failed.has(name))),
    ...Object.keys(notFollowed).filter((name) => !legs.some((result) => result.warned.has(name))),
  ];
  return [
    ...[...failed, ...unexplained],
    ...unused.map((name) => `${name}: it passes, and test/conformance/reasons.ts says why it cannot.`),
  ];
}

/** Recommendations that are not followed, for which no reason is stated. They may depend on how busy the machine is. */
export function warningsOf({ legs }: Findings): readonly string[] {
  return legs.flatMap((result) => lines(result, result.warned, notFollowed));
}

/** @param explained the scenarios that are left out */
function lines({ leg, revision }: LegResult, found: LegResult["failed"], explained: object = {}): readonly string[] {
  const open = [...found].filter(([name]) => !Object.hasOwn(explained, name));
  return open.flatMap(([name, texts]) => texts.map((text) => `${leg} ${revision}, ${name}: ${text}`));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const sides = {
  server: "a client of the suite, `/mcp/<server>`, a server of the same revision",
  client: "a client, Postern, a server of the suite",
} as const;

/** docs/reference/conformance.md */
export function asPage(findings: Findings, version: string): string {
  const { legs, mixed } = findings;
  return `# Conformance

<!-- Made by \`npm run conformance -- --write\`. -->

Postern against the [conformance suite](https://github.com/modelcontextprotocol/conformance) of MCP, version ${version}: **${sumOf(findings)}** scenarios pass that the two revisions require. \`npm run conformance\` runs it, \`--json\` prints JSON. CI fails if a scenario does not end as this page says.

${table(
  ["leg", "revision", "what is tested", "passed"],
  legs.map((result) => [result.leg, result.revision, sides[result.leg], scoreOf(result)]),
)}

In the client leg a gateway has the suite's server behind it, and a client calls what it offers. Where a scenario asks for a sign-in, a person who follows redirects signs in, at most three times; Postern begins none by itself.

## Mixed revisions

The server leg, with a server of the other revision behind Postern.

${table(
  ["client", "server", "passed"],
  mixed.map((result) => [result.revision, result.upstream, scoreOf(result)]),
)}

${table(["does not pass", "why it cannot"], Object.entries(unrepresentable).map(reasonRow))}

## Recommendations

What the suite recommends and does not require, where Postern does otherwise.

${table(["scenario", "why"], Object.entries(notFollowed).map(reasonRow))}
`;
}

const reasonRow = ([name, why]: readonly [string, string]): readonly string[] => [`\`${name}\``, why];
