import { messageOf, RuntimeFault, visible } from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { RiskGuess, ToolFacts } from "../policy/policy.ts";
import type { ActionSpec, LocalTool } from "./kinds.ts";
import type { Members } from "./members.ts";
import type { Action } from "./tool.ts";

/**
 * What an operator, or the adapter of a server, states about a tool. It wins over what the tool states; scopes and
 * permissions are needed in addition.
 */
export type Override = Pick<
  ActionSpec,
  | ("risk" | "effects" | "openWorld" | "idempotent" | "scopes" | "permissions")
  | ("timeoutMs" | "approvalTtlMs" | "requireIdempotencyKey")
>;

export interface CompileOptions extends Override {
  /** The upstream server it comes from. */
  readonly server?: string | undefined;
  /** Where the risk comes from, if neither from the author nor from an operator: `default` for an upstream tool. */
  readonly riskSource?: ToolFacts["riskSource"] | undefined;
  /** The guess about an upstream tool, for people. */
  readonly guess?: RiskGuess | undefined;
  /** The operator only observes its server. */
  readonly observe?: boolean | undefined;
  /** By action name. It wins over what is stated for the whole tool. */
  readonly actions?: Readonly<Record<string, Override>> | undefined;
}

/** An action that is being compiled: its tool, its own part of it, and what overrides both. */
export interface ActionDraft {
  readonly tool: LocalTool;
  readonly name: string;
  readonly spec: ActionSpec;
  readonly over: CompileOptions;
  readonly members: Members;
}

/** The override of one action. Scopes and permissions of both levels are needed together. */
export function overrideOf({ actions, ...all }: CompileOptions, name: string): CompileOptions {
  const own = actions !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (own === undefined) return all;
  const scopes = [...(all.scopes ?? []), ...(own.scopes ?? [])];
  const permissions = [...(all.permissions ?? []), ...(own.permissions ?? [])];
  return { ...all, ...own, scopes, permissions };
}

/** What the operator states, else the action, else its tool. */
export function stated<Name extends keyof ActionSpec>({ over, spec, tool }: ActionDraft, name: Name): ActionSpec[Name] {
  const override: Partial<ActionSpec> = over;
  return override[name] ?? spec[name] ?? tool[name];
}

export function factsOf(draft: ActionDraft): ToolFacts {
  const { tool, name, spec, over, members } = draft;
  const risk = members.risk(stated(draft, "risk"));
  return Object.freeze({
    tool: tool.name,
    action: name,
    ...(over.server !== undefined && { server: over.server }),
    risk,
    riskSource: over.riskSource ?? (over.risk === undefined ? "declared" : "operator"),
    effects: members.effects(stated(draft, "effects"), risk),
    ...(members.flag("openWorld", stated(draft, "openWorld")) && { openWorld: true }),
    ...(over.observe === true && { observe: true }),
    ...(over.guess !== undefined && {
      guess: Object.freeze({ ...over.guess, why: Object.freeze([...over.guess.why]) }),
    }),
    scopes: members.texts("scopes", tool.scopes, spec.scopes, over.scopes),
    permissions: members.texts("permissions", tool.permissions, spec.permissions, over.permissions),
  });
}

/** A digest of what a person reads before approving, so that a changed tool is another definition. */
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
    throw new RuntimeFault("options_invalid", why, { cause: error });
  }
}
