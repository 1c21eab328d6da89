/** What the tools and prompts of the reference server ask, as the conformance suite expects it. */
import type { InputRequest } from "@modelcontextprotocol/server";

export interface Question {
  /** The capability that a client needs to be asked. */
  readonly needs: "elicitation" | "sampling" | "roots";
  readonly request: InputRequest;
}

/** A tool or a prompt that asks. */
interface Asking {
  readonly isPrompt: boolean;
  /** Questions by name. A round is asked when the one before is answered. */
  readonly rounds: readonly Readonly<Record<string, Question>>[];
  /** What a tool answers in the end. */
  readonly says: string;
}

function form(message: string, properties: object, required: readonly string[] = Object.keys(properties)): Question {
  const requestedSchema = { type: "object", properties, required };
  // The suite's schemas are those of the protocol.
  return {
    needs: "elicitation",
    request: { method: "elicitation/create", params: { message, requestedSchema } } as never,
  };
}

function sample(prompt: string, maxTokens = 100): Question {
  const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt } }];
  return { needs: "sampling", request: { method: "sampling/createMessage", params: { messages, maxTokens } } };
}

const roots: Question = { needs: "roots", request: { method: "roots/list" } };
const words = { type: "string" };
const user = form("What is your name?", { name: words });
const confirm = form("Please confirm", { ok: { type: "boolean" } });
const three = (prefix: string): readonly string[] => [1, 2, 3].map((number) => `${prefix}${number}`);
const titled = (titles: readonly string[]): readonly object[] =>
  titles.map((title, at) => ({ const: `value${at + 1}`, title }));

const defaults = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const choices = {
  untitledSingle: { type: "string", enum: three("option") },
  titledSingle: { type: "string", oneOf: titled(["First Option", "Second Option", "Third Option"]) },
  legacyEnum: { type: "string", enum: three("opt"), enumNames: ["Option One", "Option Two", "Option Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: three("option") } },
  titledMulti: { type: "array", items: { anyOf: titled(["First Choice", "Second Choice", "Third Choice"]) } },
};

const tools: Readonly<Record<string, Asking["rounds"]>> = {
  test_sampling: [{ prompt: sample("Test prompt for sampling") }],
  test_elicitation: [{ form: form("Please provide your information", { username: words, email: words }) }],
  test_elicitation_sep1034_defaults: [{ form: form("Please check the values", defaults, []) }],
  test_elicitation_sep1330_enums: [{ form: form("Please choose", choices, []) }],
  test_streaming_elicitation: [{ user_name: user }],
  test_input_required_result_elicitation: [{ user_name: user }],
  test_input_required_result_sampling: [{ capital_question: sample("What is the capital of France?") }],
  test_input_required_result_list_roots: [{ client_roots: roots }],
  test_input_required_result_request_state: [{ confirm }],
  test_input_required_result_multiple_inputs: [
    { user_name: user, greeting: sample("Generate a greeting", 50), client_roots: roots },
  ],
  test_input_required_result_multi_round: [
    { step1: form("Step 1: What is your name?", { name: words }) },
    { step2: form("Step 2: What is your favorite color?", { color: words }) },
  ],
  test_input_required_result_tampered_state: [{ confirm }],
  test_input_required_result_capabilities: [{ user_name: user, greeting: sample("Generate a greeting", 50) }],
};

const prompts: Readonly<Record<string, Asking["rounds"]>> = {
  test_input_required_result_prompt: [
    { user_context: form("What context should the prompt use?", { context: words }) },
  ],
};

/** By the name of the tool or the prompt. */
export const asking: ReadonlyMap<string, Asking> = new Map(
  [tools, prompts].flatMap((all) =>
    Object.entries(all).map(([name, rounds]): [string, Asking] => [
      name,
      { isPrompt: all === prompts, rounds, says: "state-ok: all is answered." },
    ]),
  ),
);
