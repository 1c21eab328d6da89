/**
 * The tools that an agent library may show to a model, and one way to call them. Every adapter in this folder and the
 * loop use it.
 * Invariant: `call` ends in `invoke()` also for unknown tools and unreadable arguments, so that budget and log count
 * them.
 * Next: names.ts (names that providers accept), library-tools.ts (tools that a library user already has),
 * results/render.ts (an outcome as a model reads it).
 */

import {
  type ApprovalRecord,
  defaultPrincipal,
  defined,
  isNamedBy,
  type JsonObject,
  modelCallOf,
  type Principal,
  RuntimeFault,
  rankOf,
  risks,
  statedRunOf,
  thresholdBelow,
} from "@postern/core";
import type { CallContext, Explanation, Limits, Runtime, RuntimeSession } from "postern";
import { type Offer, Toolbox } from "postern/tools";
import { AttachedSkills } from "./attached-skills.ts";
import { withImages } from "./images.ts";
import { commonNames, type NameRule } from "./names.ts";
import {
  callingTools,
  ofProvider,
  type RenderedToolAnswer,
  type RunTool,
  RunTools,
  type ToolUse,
  type ToolUseContext,
} from "./run-tools.ts";
import { toolSearchName } from "./tool-search.ts";
import { activeTraceId } from "./traces.ts";

export type { RenderedToolAnswer, ToolUse, ToolUseContext } from "./run-tools.ts";

/** How a withdrawal names its place: the user's answer in an agent library. */
export const libraryAnswer = "agent-library";

/** Who the agent is and what it may do. Everything here can only narrow what the runtime grants. */
export interface AgentContext
  extends Pick<
    CallContext,
    "principal" | "runId" | "traceId" | "taskId" | "scopes" | "autonomy" | "patience" | "reason"
  > {
  readonly limits?: Partial<Limits>;
  /** The only tools that the agent is shown and can call. A tool that is added to a box later counts too. Default: all that the runtime offers. */
  readonly tools?: Toolbox | readonly string[];
  /** Skills that are active in the run from now on. Each narrows what the run may call; none widens it. */
  readonly skills?: readonly string[];
  /** Calls at or above this risk need a person's approval. */
  readonly approvalRequiredRisk?: "medium" | "high" | "critical";
  /** Spans contain arguments and results. Default: false, because others read traces. */
  readonly traceContent?: boolean;
}

/** One action of a tool in the form that a model gets. */
export interface AgentTool extends RunTool<Offer> {
  /** The name under which the model calls it, with the characters and length that providers accept. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  /** The runtime's offer under this name. */
  readonly offer: Offer;
}

/** The tools of one agent in one run. */
export interface AgentTools extends AsyncDisposable {
  readonly session: RuntimeSession;
  readonly principal: Principal;
  /** The tools the agent may be shown now. The list changes when tools come and go and when skills are activated. */
  list(): readonly AgentTool[];
  /** By its name, or by the type under which its provider's calls arrive. */
  find(name: string): AgentTool | undefined;
  /** Runs one call through every gate. Throws only the reason of the caller's own `signal`. */
  call(use: ToolUse, context?: ToolUseContext): Promise<RenderedToolAnswer>;
  /** All calls of one model turn: concurrency-safe neighbours together, each other call alone. Answers keep the order. */
  callAll(uses: readonly ToolUse[], context?: ToolUseContext): Promise<readonly RenderedToolAnswer[]>;
  /** Whether a person must approve this call before it runs. Runs, counts and records nothing. */
  needsApproval(use: ToolUse): Promise<boolean>;
  /**
   * Asks for approval without waiting, and returns the open request. Returns undefined when the call needs none, or was
   * decided before. It does not run the call.
   */
  requestApproval(use: ToolUse): Promise<ApprovalRecord | undefined>;
  /** The request of this call of the model (its id and turn), open or decided. Returns undefined when none was made. */
  approvalOf(use: ToolUse): Promise<ApprovalRecord | undefined>;
  /**
   * Withdraws the request of this call, because the user refused it in the agent library. An approval that is not used
   * yet is withdrawn too. Resolves to false when there is nothing to withdraw.
   */
  withdraw(use: ToolUse, reason?: string): Promise<boolean>;
  /** The end of the system prompt: the instructions of the skills that are active in the run. Empty when none is. */
  instructions(): Promise<string>;
  /** Removes a skill from the run. Resolves to false when it was not active. A skill that the operator attached to the agent stays. */
  detach(skill: string): Promise<boolean>;
  /** The same session for a sub-agent: its calls count against this budget, and its claims can only narrow these. */
  child(claims: ChildClaims): AgentTools;
}

/**
 * Opens a session for an agent. Inside a tool that another agent has called, it is that agent's session: a sub-agent
 * inherits identity, run, budget and policy, and its scopes and autonomy can only narrow them.
 *
 * @throws RuntimeFault `context_invalid` or `options_invalid` for an invalid member
 *
 * @example
 * await using tools = openAgentTools(runtime, { principal, runId: "chat-42", scopes: ["mail:write"] });
 * const answer = await tools.call({ id: "call_1", name: "send_email", arguments: { to: "ada@example.org" } });
 *
 * @public
 */
export function openAgentTools(
  runtime: Runtime,
  context: AgentContext = {},
  names: NameRule = commonNames,
): AgentTools {
  const parent = callingTools();
  if (parent instanceof SessionTools && parent.isOf(runtime)) return subAgent(parent, context);
  const { limits, approvalRequiredRisk, traceContent = false, skills = [], tools, ...stated } = context;
  const traceId = stated.traceId ?? activeTraceId();
  const claims = { ...stated, ...(traceId !== undefined && { traceId }) };
  const session = runtime.openSession({ ...limits, ...maxUnapproved(approvalRequiredRisk, limits) }, claims);
  const { tenant, agent } = stated.principal ?? defaultPrincipal;
  const run = { tenant, agent, runId: session.runId };
  const attached = new AttachedSkills(runtime.skills, run, { names: skills, by: stated.principal });
  const { principal = defaultPrincipal } = stated;
  const toolboxes = tools === undefined ? [] : [tools];
  return new SessionTools({ runtime, session, names, traceContent, attached, principal, toolboxes });
}

/** A skill is active in a whole run. In the calling agent's run, it would restrict that agent too. */
function subAgent(parent: SessionTools, { skills = [], ...context }: AgentContext): AgentTools {
  if (skills.length === 0) return parent.child(context);
  throw new RuntimeFault(
    "context_invalid",
    `A sub-agent works in the run of the agent that calls it, so it cannot have \`skills\` (${skills.join(", ")}) of its own; narrow it by \`tools\`, \`scopes\`, \`limits\` or \`autonomy\`.`,
  );
}

/** As `approvalRequiredRisk` of a policy. What the runtime itself asks about, an agent cannot lift. */
function maxUnapproved(risk: AgentContext["approvalRequiredRisk"], limits: Partial<Limits> = {}): Partial<Limits> {
  if (risk === undefined) return {};
  const level = risks.find((one) => one === risk);
  const most = level && thresholdBelow(level);
  if (most === undefined)
    throw new RuntimeFault(
      "context_invalid",
      `\`approvalRequiredRisk\` is ${String(risk)}; it must be medium, high or critical.`,
    );
  const { maxRiskUnapproved = most } = limits;
  return { maxRiskUnapproved: rankOf(maxRiskUnapproved) < rankOf(most) ? maxRiskUnapproved : most };
}

/** What a sub-agent may claim. Identity, run and trace are those of the agent that calls it. */
export type ChildClaims = Pick<
  AgentContext,
  "scopes" | "autonomy" | "taskId" | "tools" | "limits" | "approvalRequiredRisk" | "patience" | "reason"
>;

interface SessionToolsOptions {
  readonly runtime: Runtime;
  readonly session: RuntimeSession;
  readonly principal: Principal;
  readonly names: NameRule;
  readonly traceContent: boolean;
  readonly attached: AttachedSkills;
  /** The agent's own, and those of the agents that call it. A tool must be in each. */
  readonly toolboxes: readonly (Toolbox | readonly string[])[];
}

class SessionTools extends RunTools<Offer> implements AgentTools {
  override readonly session: RuntimeSession;
  readonly principal: Principal;
  readonly #options: SessionToolsOptions;

  constructor(options: SessionToolsOptions) {
    const { runtime, session, principal, attached, toolboxes } = options;
    const usable = (): readonly string[] | undefined => namesIn(toolboxes);
    super({
      ...options,
      usable,
      offered: () => runtime.offered(principal, session.runId, usable()).filter(({ facts }) => attached.allows(facts)),
      ready: attached.ready,
      images: (content) => withImages(content, runtime.artifacts, principal),
    });
    this.session = session;
    this.principal = principal;
    this.#options = options;
  }

  isOf(runtime: Runtime): boolean {
    return this.#options.runtime === runtime;
  }

  async needsApproval(use: ToolUse): Promise<boolean> {
    const explanation = await this.#explain(use);
    return explanation.reached === "verdict" && explanation.decision.verdict === "CONFIRM";
  }

  async requestApproval(use: ToolUse): Promise<ApprovalRecord | undefined> {
    const explanation = await this.#explain(use);
    if (explanation.reached !== "verdict" || !explanation.waits) return undefined;
    const { outcome } = await this.call(use, { patience: "suspend" });
    if (outcome.status !== "pending") return undefined;
    return this.#options.runtime.approvals.get(outcome.approvalId);
  }

  async approvalOf(use: ToolUse): Promise<ApprovalRecord | undefined> {
    const { approvals, calls } = this.#options.runtime;
    const modelCall = modelCallOf(ofProvider(use));
    if (modelCall === undefined) return undefined;
    const { tool } = this.requestOf(use);
    const runId = statedRunOf(this.session);
    const made = await approvals.list({ tool, principal: this.principal, ...defined({ runId }) });
    for (const approval of made.toReversed()) {
      const row = await calls.get(approval.key);
      if (row?.approvalId === approval.id && isNamedBy(row, modelCall)) return approval;
    }
    return undefined;
  }

  async withdraw(use: ToolUse, reason = ""): Promise<boolean> {
    const approval = await this.approvalOf(use);
    if (approval?.state !== "pending" && approval?.state !== "approved") return false;
    const { tenant, agent, user = agent } = this.principal;
    const why = `The user refused it in the agent library.${reason === "" ? "" : ` ${reason}`}`;
    const by = { user, tenant, via: libraryAnswer };
    return (await this.#options.runtime.approvals.withdraw(approval.id, by, why)).decided;
  }

  async #explain(use: ToolUse): Promise<Explanation> {
    await this.#options.attached.ready;
    return this.session.explain(this.requestOf(use), { ...this.claimsOf(use), ...ofProvider(use) });
  }

  instructions(): Promise<string> {
    return this.#options.attached.instructions();
  }

  detach(skill: string): Promise<boolean> {
    return this.#options.attached.detach(skill);
  }

  child(claims: ChildClaims): AgentTools {
    const { toolboxes } = this.#options;
    const { scopes, autonomy, taskId, patience, reason, tools, limits, approvalRequiredRisk } = claims;
    const session = this.session.openSession(
      { ...limits, ...maxUnapproved(approvalRequiredRisk, limits) },
      defined({ scopes, autonomy, taskId, patience, reason }),
    );
    return new SessionTools({
      ...this.#options,
      ...{ session, toolboxes: tools === undefined ? toolboxes : [...toolboxes, tools] },
    });
  }
}

/** The search for deferred tools lists only what the agent may use, so it needs no place in the box. */
function namesIn(toolboxes: SessionToolsOptions["toolboxes"]): readonly string[] | undefined {
  if (toolboxes.length === 0) return undefined;
  const lists = toolboxes.map((box) => (box instanceof Toolbox ? box.names() : box));
  const [first = [], ...others] = lists;
  return [...first.filter((name) => others.every((names) => names.includes(name))), toolSearchName];
}
