import {
  type Autonomy,
  defined,
  type JsonObject,
  noOpaqueFields,
  opaqueFields,
  refusal,
  refusedOutcome,
  type ToolOutcome,
  toCamelCase,
  toSnakeCase,
} from "@postern/core";
import {
  blockData,
  type CallFields,
  type OutcomeView,
  type PosternClient,
  problemCodeOf,
  type ToolView,
  unless,
} from "@postern/core/contract";
import type { CallRequest, SessionCall } from "postern";
import type { AgentPlace } from "./agent-run.ts";
import { commonNames } from "./names.ts";
import { type RunOffer, RunTools } from "./run-tools.ts";

/** The clients of a Postern that runs elsewhere. */
export interface RemotePostern {
  /** Calls and waits. */
  readonly agent: PosternClient;
  /** Activates skills. */
  readonly operator: PosternClient;
}

export interface RemotePlaceOptions {
  /** Sent with every call of the run. */
  readonly claims: { readonly autonomy?: Autonomy | undefined; readonly scopes?: readonly string[] | undefined };
  readonly traceId: string;
  /** Skills that are active from the start of the run. */
  readonly skills: readonly string[];
  /** Stored with the conversation: what `resume` needs. */
  readonly settings: JsonObject;
}

/** For an agent whose loop runs in this command: its tools, its conversation and its skills are Postern's. */
export function remotePlace(
  postern: RemotePostern,
  { claims, traceId, skills, settings }: RemotePlaceOptions,
): AgentPlace {
  const { agent, operator } = postern;
  let offers: readonly RunOffer[] = [];
  return {
    runs: remoteRuns(postern, settings),
    describe: ({ runId: id }, { systemPrompt, transcript }) =>
      // The command has begun the run with its prompt.
      unless(
        "run_unknown",
        unless("runs_off", agent.runs.describe({ id, ...defined({ system_prompt: systemPrompt, transcript }) })),
      ),
    open: ({ runId }) => {
      const own = { run_id: runId, trace_id: traceId, ...claims, patience: "suspend" } as const;
      const invoke = async (request: CallRequest, { signal, ...context }: SessionCall = {}): Promise<ToolOutcome> =>
        outcomeFromWire(await agent.calls.call({ ...request, ...contextToWire(context), ...own }, signal));
      const session = {
        ...{ runId, traceId },
        invoke: (request: CallRequest, context?: SessionCall) => invoke(request, context).catch(refusedHere),
        close: async () => {},
      };
      const active = Promise.all(skills.map((skill) => operator.skills.activate({ name: skill, run_id: runId })));
      const ready = active.then(() => {});
      ready.catch(() => undefined); // `instructions` and each call reject with it
      const tools = new RunTools({ session, names: commonNames, offered: () => offers, ready });
      const instructions = async (): Promise<string> => {
        await ready;
        const [{ tools: offered }, run] = await Promise.all([
          agent.tools.list({ run_id: runId }),
          agent.agentRuns.show({ id: runId }),
        ]);
        offers = offered.map(offerFromWire);
        return run.instructions;
      };
      return Object.assign(tools, { instructions });
    },
  };
}

/** @param settings stored with each state */
function remoteRuns({ agent }: RemotePostern, settings: JsonObject): AgentPlace["runs"] {
  return {
    load: ({ runId }) => unless("run_unknown", agent.agentRuns.show({ id: runId })),
    save: async ({ runId }, state, expected) => {
      const stored = { ...(state as JsonObject), settings }; // the loop's state is an object
      return (
        (await unless(
          "run_contended",
          agent.agentRuns.save({ id: runId, state: stored, expected_version: expected }),
        )) !== undefined
      );
    },
  };
}

const unreadable: ReadonlySet<string | undefined> = new Set(["request_invalid", "json_invalid", "body_too_large"]);

/** A model may ask for something that is no valid request, such as arguments that are no object. It reads why. */
function refusedHere(error: unknown): ToolOutcome {
  if (!(error instanceof Error) || !unreadable.has(problemCodeOf(error))) throw error;
  return refusedOutcome("", "error", refusal("arguments_invalid", error.message));
}

const outcomeOpaque = opaqueFields([...blockData, "structured", "details"]);

/** What an agent's loop needs of an answer from another process. An open request is pending, also after a wait for it. */
function outcomeFromWire({ how_to_approve: open, expires_at: expiresAt, ...wire }: OutcomeView): ToolOutcome {
  return {
    ...toCamelCase(wire, outcomeOpaque),
    ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }),
    status: open === undefined ? wire.status : "pending",
  } as object as ToolOutcome; // it was one on the other side
}

function offerFromWire(wire: ToolView): RunOffer {
  const { tool, action: name, description, kind, provider_specs: providerSpecs, server } = wire;
  return {
    ...{ tool, name, description, kind, inputSchema: wire.input_schema, deferLoading: false },
    concurrencySafe: wire.concurrency_safe,
    ...(providerSpecs !== undefined && { providerSpecs }),
    facts: server === undefined ? {} : { server },
  };
}

function contextToWire({ taskId, stepId, traceId, toolCallId, turn, reason }: SessionCall): Partial<CallFields> {
  return toSnakeCase({ taskId, stepId, traceId, toolCallId, turn, reason }, noOpaqueFields);
}
