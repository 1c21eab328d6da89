import type { Risk } from "../core/call.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import { digestOf } from "../core/json.ts";
import type { RiskGuess, ToolFacts } from "../policy/policy.ts";
import type { ActionSpec, LocalTool } from "./kinds.ts";
import type { Members } from "./members.ts";
import { visible } from "./names.ts";
import type { Action } from "./tool.ts";

/** What an operator, or the adapter of a server, says of a tool. It stands over what the tool says of itself. */
export interface Override {
  readonly risk?: Risk | "low" | undefined;
  readonly effects?: ToolFacts["effects"] | undefined;
  /** Its results may carry strangers' words: web, mail, other people's servers. */
  readonly openWorld?: boolean | undefined;
  readonly idempotent?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly approvalTtlMs?: number | undefined;
  readonly requireIdempotencyKey?: boolean | undefined;
  /** Needed as well as the tool's own (C24). */
  readonly scopes?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
}

export interface CompileOptions extends Override {
  /** The upstream server it comes from. */
  readonly server?: string | undefined;
  /** Where the risk comes from, when neither from the tool's author nor from an operator: `default` for a stranger's. */
  readonly riskSource?: ToolFacts["riskSource"] | undefined;
  /** What was guessed of a stranger's tool, for people. */
  readonly guess?: RiskGuess | undefined;
  /** By action name; stands over what is said for the whole tool. */
  readonly actions?: Readonly<Record<string, Override>> | undefined;
}

/** One action on its way: its tool, its own part of it, and what is said over both. */
export interface ActionDraft {
  readonly tool: LocalTool;
  readonly name: string;
  readonly spec: ActionSpec;
  readonly over: CompileOptions;
  readonly members: Members;
}

/** What is said over one action; scopes and permissions of both levels are needed together. */
export function overrideOf({ actions, ...all }: CompileOptions, name: string): CompileOptions {
  const own = actions !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (own === undefined) return all;
  const scopes = [...(all.scopes ?? []), ...(own.scopes ?? [])];
  const permissions = [...(all.permissions ?? []), ...(own.permissions ?? [])];
  return { ...all, ...own, scopes, permissions };
}

/** An action's own word, else its tool's. */
export function stated<Name extends keyof ActionSpec>(
  { spec, tool }: Pick<ActionDraft, "spec" | "tool">,
  name: Name,
): ActionSpec[Name] {
  return spec[name] ?? tool[name];
}

export function factsOf(draft: ActionDraft): ToolFacts {
  const { tool, name, spec, over, members } = draft;
  const risk = members.risk(over.risk ?? stated(draft, "risk"));
  return Object.freeze({
    tool: tool.name,
    action: name,
    ...(over.server !== undefined && { server: over.server }),
    risk,
    riskSource: over.riskSource ?? (over.risk === undefined ? "declared" : "operator"),
    effects: members.effects(over.effects ?? stated(draft, "effects"), risk),
    ...(members.flag("openWorld", over.openWorld ?? stated(draft, "openWorld")) && { openWorld: true }),
    ...(over.guess !== undefined && {
      guess: Object.freeze({ ...over.guess, why: Object.freeze([...over.guess.why]) }),
    }),
    scopes: members.texts("scopes", tool.scopes, spec.scopes, over.scopes),
    permissions: members.texts("permissions", tool.permissions, spec.permissions, over.permissions),
  });
}

/** D18: what a person reads before approving. Another server's tool, or one that reads otherwise, is another definition. */
export function definitionOf(
  facts: ToolFacts,
  rest: Pick<Action, "idempotent" | "description" | "inputSchema"> &
    Partial<Pick<Action, "outputSchema" | "previewBinds">>,
): string {
  const { tool, action, server, risk, effects, scopes } = facts;
  const { idempotent, description, inputSchema, outputSchema, previewBinds = true } = rest;
  try {
    return digestOf({
      ...{ tool, action, server: server ?? null, description, inputSchema },
      ...{ outputSchema: outputSchema ?? null, risk, effects, scopes, idempotent },
      ...(!previewBinds && { previewBinds }),
    });
  } catch (error) {
    const why = `Tool ${visible(tool)} cannot be fingerprinted: ${messageOf(error)}`;
    throw new RuntimeFault("tool_incomplete", why, { cause: error });
  }
}
