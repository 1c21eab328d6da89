/**
 * The calls of one agent in one run, wherever its session is: in this process (agent-tools.ts), or behind the HTTP
 * interface (remote-place.ts).
 *
 * Invariant: every use ends in the session's `invoke`, also of an unknown tool and of arguments that cannot be read.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type ContentBlock,
  isJsonObject,
  type JsonObject,
  parseStrict,
  readArtifactName,
  runBatch,
  type ToolOutcome,
} from "@postern/core";
import { withContentInSpans } from "@postern/core/tracing";
import type { RuntimeSession, SessionCall } from "postern";
import { type RenderedOutcome, renderOutcome } from "postern/results";
import type { Offer } from "postern/tools";
import { isKeptImage } from "./images.ts";
import { modelName, type NameRule } from "./names.ts";
import { ownArguments, shownOffer } from "./provider-schema.ts";
import { toolSearchName } from "./tool-search.ts";

/** The members of an offer that an agent needs. */
export interface RunOffer
  extends Pick<
    Offer,
    | "tool"
    | "name"
    | "description"
    | "inputSchema"
    | "kind"
    | "providerSpecs"
    | "callTypes"
    | "deferLoading"
    | "concurrencySafe"
  > {
  readonly facts: Pick<Offer["facts"], "server">;
}

/** An offer with the name under which a model calls it. */
export interface RunTool<Offered extends RunOffer = RunOffer> {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly offer: Offered;
}

/** A model's request to use a tool. */
export interface ToolUse {
  /** The provider's id of the call. The same id in the same turn of a run is the same call. */
  readonly id?: string;
  /** Names the response of the model that holds the call. Default: the id is a turn of its own. */
  readonly turn?: string;
  readonly name: string;
  /** An object, or its JSON text. */
  readonly arguments?: unknown;
  /** The provider's own item, for which the answer is made. Its type, ids and status are recorded with the call. */
  readonly item?: JsonObject;
}

/** The calls of one response, in its turn. Without a name for the turn, the id of the first call names it. */
export function inTurn(uses: readonly ToolUse[], turn = uses[0]?.id): ToolUse[] {
  return uses.map((use) => ({ ...use, ...(turn !== undefined && { turn }) }));
}

/** How a tool use ended: the text for the model, and the outcome. */
export interface RenderedToolAnswer extends RenderedOutcome {
  readonly outcome: ToolOutcome;
}

/** The options of a single call. */
export type ToolUseContext = Pick<SessionCall, "signal" | "onProgress" | "stepId" | "patience" | "traceId" | "tools">;

export interface RunToolsOptions<Offered extends RunOffer> {
  readonly session: Pick<RuntimeSession, "runId" | "traceId" | "invoke" | "close">;
  /** The offers that the run may see now. */
  readonly offered: () => readonly Offered[];
  readonly names: NameRule;
  /** Names of the only tools that the agent may use. Undefined: every tool. */
  readonly usable?: () => readonly string[] | undefined;
  readonly traceContent?: boolean;
  /** No call begins before it resolves. */
  readonly ready?: Promise<void>;
  /** Reads pictures that were kept as artifacts. Without it, they stay references. */
  readonly images?: (content: readonly ContentBlock[]) => Promise<readonly ContentBlock[]>;
}

/** The tools of the agent whose call runs now, for agents that its tools start. */
const calling = new AsyncLocalStorage<object>();

export function callingTools(): object | undefined {
  return calling.getStore();
}

export class RunTools<Offered extends RunOffer = RunOffer> implements AsyncDisposable {
  readonly session: RunToolsOptions<Offered>["session"];
  readonly #options: RunToolsOptions<Offered>;
  #byName: ReadonlyMap<string, RunTool<Offered>> = new Map();

  constructor(options: RunToolsOptions<Offered>) {
    this.session = options.session;
    this.#options = options;
  }

  list(): readonly RunTool<Offered>[] {
    const { offered, names } = this.#options;
    const tools = offered().map((offer) => runTool(offer, names));
    const byCallType = tools.flatMap((tool) => (tool.offer.callTypes ?? []).map((type) => [type, tool] as const));
    this.#byName = new Map([...byCallType, ...tools.map((tool) => [tool.name, tool] as const)]);
    return tools;
  }

  find(name: string): RunTool<Offered> | undefined {
    if (!this.#byName.has(name)) this.list();
    return this.#byName.get(name);
  }

  async call(use: ToolUse, context: ToolUseContext = {}): Promise<RenderedToolAnswer> {
    const { traceContent, ready } = this.#options;
    await ready;
    const invoke = (): Promise<ToolOutcome> =>
      calling.run(this, () =>
        this.session.invoke(this.requestOf(use), { ...context, ...this.claimsOf(use, context), ...ofProvider(use) }),
      );
    const outcome = await (traceContent === true ? withContentInSpans(invoke) : invoke());
    return this.#withImages(this.#answer(use, outcome));
  }

  callAll(uses: readonly ToolUse[], context: ToolUseContext = {}): Promise<readonly RenderedToolAnswer[]> {
    const isSafe = ({ use }: { readonly use: ToolUse }): boolean => this.find(use.name)?.offer.concurrencySafe === true;
    const calls = uses.map((use) => ({ tool: use.name, use }));
    return runBatch(calls, isSafe, ({ use }) => this.call(use, context));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session.close();
  }

  /** The tools the agent may use now. The gate holds them for the calls of its scripts too. */
  protected claimsOf({ name }: ToolUse, context: Pick<ToolUseContext, "tools"> = {}): { tools?: readonly string[] } {
    const tools = name === toolSearchName ? undefined : context.tools; // a search finds what the model cannot call yet
    const usable = this.#options.usable?.();
    const both = usable === undefined ? tools : (tools?.filter((name) => usable.includes(name)) ?? usable);
    return both === undefined ? {} : { tools: both };
  }

  protected requestOf(use: ToolUse): { tool: string; action?: string; arguments: JsonObject } {
    const { id, name } = use;
    const found = this.find(name);
    const sent = argumentsOf(use.arguments);
    if (found === undefined) return { tool: name, arguments: sent };
    const given = ownArguments(sent, found.offer);
    const { tool, name: action } = found.offer;
    return { tool, action, arguments: found.name === name ? given : withType(given, name, id) };
  }

  #answer({ name }: ToolUse, outcome: ToolOutcome): RenderedToolAnswer {
    const hasArtifact = (outcome.cut ?? outcome.files) !== undefined;
    if (!hasArtifact || this.find(readArtifactName) === undefined)
      return { ...renderOutcome(outcome, { tool: name }), outcome };
    const readOn = (digest: string, offset: number): string =>
      `call \`${readArtifactName}\` with ${JSON.stringify({ artifact: digest, offset })}`;
    const readFile = `call \`${readArtifactName}\` with its digest`;
    return { ...renderOutcome(outcome, { tool: name, readOn, readFile }), outcome };
  }

  async #withImages(answer: RenderedToolAnswer): Promise<RenderedToolAnswer> {
    const { images } = this.#options;
    if (images === undefined || !answer.content.some(isKeptImage)) return answer;
    return { ...answer, content: await images(answer.content) };
  }
}

/** What a call tells of its place in the model's responses. */
export function ofProvider({ id, turn, item }: ToolUse): Pick<SessionCall, "toolCallId" | "turn" | "providerItem"> {
  return {
    ...(id !== undefined && id !== "" && { toolCallId: id, ...(turn !== undefined && { turn }) }),
    ...(item !== undefined && { providerItem: item }),
  };
}

function runTool<Offered extends RunOffer>(offer: Offered, names: NameRule): RunTool<Offered> {
  return { name: modelName(offer, names), ...shownOffer(offer), offer };
}

/** Adds the provider's type and id of a call to its arguments, so that two equal calls stay two calls. */
function withType(given: JsonObject, type: string, id: string | undefined): JsonObject {
  if (!isJsonObject(given) || given["type"] !== undefined) return given;
  return { ...given, type, ...(id !== undefined && { call_id: id }) };
}

/** Text that is not a JSON object goes to the arguments gate unchanged, which refuses it with the reason. */
function argumentsOf(given: unknown): JsonObject {
  if (given === undefined || given === null || given === "") return {};
  if (typeof given !== "string") return given as JsonObject; // the gate refuses other values
  const parsed = parseStrict(given);
  return "value" in parsed && isJsonObject(parsed.value) ? parsed.value : (given as unknown as JsonObject);
}
