import type { AgentPlace } from "../agents/agent-run.ts";
import { commonNames } from "../agents/names.ts";
import { type RunOffer, RunTools } from "../agents/run-tools.ts";
import type { Autonomy } from "../core/call.ts";
import { given } from "../core/given.ts";
import type { JsonObject } from "../core/json.ts";
import { type ContentBlock, refusedOutcome, type ToolOutcome } from "../core/outcome.ts";
import { refusal } from "../core/refusals.ts";
import type { CallRequest, SessionCall } from "../runtime/api.ts";
import { ClientProblem } from "../server/client/client.ts";
import type { CallFields } from "../server/contract/calls.ts";
import type { OutcomeView } from "../server/contract/outcome.ts";
import type { ToolView } from "../server/contract/tools.ts";
import { innerNames } from "../server/contract/wire.ts";
import type { Work } from "./session.ts";

/** What is said of every call of the run. */
export interface RunClaims {
  readonly autonomy?: Autonomy | undefined;
  readonly scopes?: readonly string[] | undefined;
}

export interface RemotePlaceOptions {
  readonly claims: RunClaims;
  readonly traceId: string;
  /** Skills that are active from the start of the run. */
  readonly skills: readonly string[];
  /** Kept with the conversation: what `resume` needs to know. */
  readonly settings: JsonObject;
}

/** The place of an agent whose loop runs in this command: its tools, its memory of the run and its skills are Postern's. */
export function remotePlace(work: Work, { claims, traceId, skills, settings }: RemotePlaceOptions): AgentPlace {
  const { agent, operator } = work;
  let offers: readonly RunOffer[] = [];
  return {
    runs: remoteRuns(work, settings),
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

/** @param settings kept beside each state that is saved */
export function remoteRuns({ agent }: Pick<Work, "agent">, settings: JsonObject = {}): AgentPlace["runs"] {
  return {
    load: ({ runId }) => unless("run_unknown", agent.agentRuns.show({ id: runId })),
    save: async ({ runId }, state, expected) => {
      const kept = { ...(state as JsonObject), settings }; // the loop's state is an object
      return (
        (await unless(
          "run_contended",
          agent.agentRuns.save({ id: runId, state: kept, expected_version: expected }),
        )) !== undefined
      );
    },
  };
}

/** Undefined when the server answers with this code. */
export async function unless<Answer>(code: string, answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: unknown) => {
    if (error instanceof ClientProblem && error.code === code) return undefined;
    throw error;
  });
}

const unreadable: ReadonlySet<string> = new Set(["request_invalid", "json_invalid", "body_too_large"]);

/** A model may ask for what is no request at all: a name without an end, arguments that are no object. It reads why. */
function refusedHere(error: unknown): ToolOutcome {
  if (!(error instanceof ClientProblem) || !unreadable.has(error.code)) throw error;
  return refusedOutcome("", "error", refusal("arguments_invalid", error.message));
}

/** A request that is still open is pending, also when the caller has waited for it. */
function outcomeFromWire(wire: OutcomeView): ToolOutcome {
  const { call_id: callId, text, structured, artifact, summary, preview, marks, refusal, status } = wire;
  const expiresAt = wire.expires_at === undefined ? undefined : Date.parse(wire.expires_at);
  return given({
    ...{ status: wire.how_to_approve === undefined ? status : "pending", callId, text, structured, artifact },
    ...{ summary, preview, marks, refusal, expiresAt },
    content: wire.content.map(blockFromWire),
    files: wire.files?.map(({ path, media_type: mediaType, artifact: digest }) => ({
      path,
      mediaType,
      artifact: digest,
    })),
    approvalId: wire.approval_id,
    replayed: wire.replayed,
    timedOut: wire.timed_out,
  }) as unknown as ToolOutcome; // each status came with its members
}

function blockFromWire(block: OutcomeView["content"][number]): ContentBlock {
  const members = Object.entries(block).map(([name, value]) => [innerNames.get(name) ?? name, value]);
  return Object.fromEntries(members) as ContentBlock; // it was one on the other side
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

function contextToWire({ taskId, stepId, traceId, toolCallId, reason }: SessionCall): Partial<CallFields> {
  return given({ task_id: taskId, step_id: stepId, trace_id: traceId, tool_call_id: toolCallId, reason });
}
