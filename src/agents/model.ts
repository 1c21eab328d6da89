import { RuntimeFault } from "../core/fault.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { ContentBlock } from "../core/outcome.ts";
import type { ToolUse } from "./run-tools.ts";

/** What an agent and a model have said. Plain JSON: it is stored while a run waits. */
export type AgentMessage =
  | { readonly role: "user"; readonly text: string }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly uses: readonly ToolUse[];
      /** What the provider needs back as it was, such as reasoning and results of tools that it ran itself. */
      readonly raw?: Json;
    }
  | { readonly role: "tool"; readonly answers: readonly AnsweredUse[] };

export interface AnsweredUse {
  readonly use: ToolUse;
  readonly text: string;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
}

/** A tool as a model is told of it. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  /** The provider's own entries, for a hosted or provider-defined tool. */
  readonly providerSpecs?: Readonly<Record<string, Json>>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly AgentMessage[];
  readonly tools: readonly ModelTool[];
  readonly signal?: AbortSignal;
  /** Hears the text as it comes, when the model streams. */
  readonly onText?: (text: string) => void;
}

/** One answer of a model. */
export interface ModelTurn {
  readonly text: string;
  /** The tools it wants used, in its order. What the provider has run itself is not among them. */
  readonly uses: readonly ToolUse[];
  readonly raw?: Json;
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number };
}

/** What the loop needs of a language model. */
export interface AgentModel {
  /** Provider and model, for traces: `openai`, `gpt-5`. */
  readonly provider: string;
  readonly modelId: string;
  generate(request: ModelRequest): Promise<ModelTurn>;
}

export interface ScriptedUse {
  readonly id?: string | undefined;
  readonly name: string;
  /** An object, or its JSON text. */
  readonly arguments?: unknown;
}

/** One turn of a script: text, tool uses, or both. */
export interface ScriptedTurn {
  readonly text?: string | undefined;
  readonly uses?: readonly ScriptedUse[] | undefined;
}

/**
 * A model that answers from a list, without a network: for tests, demos and `postern agent run --script`. Its answer
 * depends only on how many turns the conversation has, so that a run that goes on after a restart goes on in the script.
 *
 * @example
 * const model = scriptedModel([
 *   { uses: [{ name: "send_email", arguments: { to: "ada@example.org", body: "hello" } }] },
 *   { text: "Sent." },
 * ]);
 *
 * @public
 */
export function scriptedModel(turns: readonly ScriptedTurn[]): AgentModel {
  return {
    provider: "postern",
    modelId: "script",
    generate: async ({ messages, onText }) => {
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const next = turns[turn];
      if (next === undefined)
        throw new RuntimeFault(
          "script_ended",
          `The script has ${turns.length} turns; the agent asked for turn ${turn + 1}.`,
        );
      const { text = "", uses = [] } = next;
      if (text !== "") onText?.(text);
      return {
        text,
        uses: uses.map(({ id, ...use }, i) => ({ ...use, id: id ?? `turn${turn + 1}_${i + 1}` })),
      };
    },
  };
}
