import { type ContentBlock, type Json, type JsonObject, RuntimeFault } from "@postern/core";
import type { ToolUse } from "./run-tools.ts";

/** A message of an agent's conversation. Plain JSON, because it is stored while a run waits. */
export type AgentMessage =
  | { readonly role: "user"; readonly text: string }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly uses: readonly ToolUse[];
      /** Parts that the provider needs back unchanged, such as reasoning and results of tools that it ran itself. */
      readonly raw?: Json;
    }
  | { readonly role: "tool"; readonly answers: readonly AnsweredUse[] };

export interface AnsweredUse {
  readonly use: ToolUse;
  readonly text: string;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
}

/** A tool in the form that a model gets. */
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
  /** Gets the text while the model streams it. */
  readonly onText?: (text: string) => void;
}

/** One answer of a model. */
export interface ModelTurn {
  readonly text: string;
  /** The tools that the model wants to use, in its order, without those that the provider has run itself. */
  readonly uses: readonly ToolUse[];
  readonly raw?: Json;
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number };
}

/** The language model that the loop needs. */
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
 * depends only on the number of turns in the conversation, so a run that continues after a restart continues in the
 * script.
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
          "request_invalid",
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
