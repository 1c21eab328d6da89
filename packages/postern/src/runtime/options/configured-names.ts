/** Names in the options of a runtime, outside its policy, that match nothing: in routes, guardrails and servers' tool lists. */

import { defined, nearest } from "@postern/core";
import type { ApprovalRoute } from "../../approvals/routes.ts";
import type { ServerConfig } from "../../mcp/client/server-config.ts";
import { requestsName } from "../../mcp/client/server-requests.ts";
import type { Guardrail } from "../../policy/guardrails/guardrails.ts";
import type { ToolFacts } from "../../policy/policy.ts";
import { type KnownNames, type PolicyWarning, unmatchedList } from "../../policy/report/unmatched.ts";
import { publicName } from "../../tools/upstream-names.ts";

export interface Configured {
  readonly routes: readonly ApprovalRoute[];
  readonly guardrails: readonly Guardrail[];
  readonly servers: Readonly<Record<string, ServerConfig>>;
}

/** A server's own names of its tools; undefined while they are not known. */
export type ListedBy = (server: string) => readonly string[] | undefined;

/**
 * The names that exist: the registered tools, and the tools that a server lists but an operator switched off or that
 * cannot be offered. Servers that are not connected yet, or are switched off, are awaited.
 */
export function knownNames(tools: readonly ToolFacts[], { servers }: Configured, listedBy: ListedBy): KnownNames {
  const names = new Set(tools.map(({ tool }) => tool));
  const others = Object.keys(servers).flatMap((server) =>
    (listedBy(server) ?? []).map((tool) => unofferedTool(server, tool)).filter(({ tool }) => !names.has(tool)),
  );
  return {
    tools: [...tools, ...others],
    awaited: Object.keys(servers).filter((server) => listedBy(server) === undefined),
  };
}

function unofferedTool(server: string, tool: string): ToolFacts {
  return {
    tool: publicName(server, tool),
    action: "default",
    server,
    ...{ risk: "critical", riskSource: "default", effects: "destructive", scopes: [], permissions: [] },
  };
}

export function unmatchedNames(
  { routes, guardrails, servers }: Configured,
  known: KnownNames,
  listedBy: ListedBy,
): readonly PolicyWarning[] {
  return [
    ...routes.flatMap(({ name, match = {}, where, optional }, i) => {
      const at = `the approval route \`${name ?? `routes[${i}]`}\``;
      return unmatchedList({ at, tools: match.tools, servers: match.servers, where, optional }, known);
    }),
    ...guardrails.flatMap(({ name, tools }) => unmatchedList({ at: `the guardrail \`${name}\``, tools }, known)),
    ...Object.entries(servers).flatMap(([server, config]) => unmatchedTools(server, config, listedBy(server))),
  ];
}

function unmatchedTools(
  server: string,
  { tools = {} }: ServerConfig,
  listed: readonly string[] | undefined,
): readonly PolicyWarning[] {
  if (listed === undefined) return [];
  return Object.entries(tools).flatMap(([tool, { where, optional, enabled }]): readonly PolicyWarning[] => {
    if (optional === true || tool === requestsName || listed.includes(tool)) return [];
    const hint = nearest(tool, listed);
    const lost = enabled === false ? ", so it switches nothing off" : ", so its settings apply to nothing";
    const message = `\`servers.${server}.tools.${tool}\` names no tool that the server lists${lost}${hint === undefined ? "." : `; did you mean \`${hint}\`?`}`;
    return [{ code: "matches_no_tool", message, ...defined({ where }) }];
  });
}
