import { CallRefused, type JsonObject } from "@postern/core";
import type { CallContext, Runtime, ToolContext } from "postern";
import type { ArgumentsOf, ToolInput } from "postern/tools";
import { registerLibraryTools, type ToolStatement } from "./library-tools.ts";

/** How a plain function becomes a tool. */
export interface GuardDefinition<Input extends ToolInput> extends ToolStatement {
  readonly name: string;
  readonly description: string;
  /** Standard Schema or JSON Schema of the arguments. */
  readonly input: Input;
}

/** A function behind the gate. */
export type GuardedFunction<Input extends ToolInput, Result> = (
  given: ArgumentsOf<Input>,
  context?: CallContext,
) => Promise<Awaited<Result>>;

/**
 * Puts a plain function behind the gate: the function it returns is called as before, and every call is checked,
 * approved if needed, run at most once and recorded.
 * The result must be JSON, because it is recorded. The returned function throws `CallRefused` when the call was not
 * run, failed or waits for a person; `error.outcome` has the details.
 *
 * @throws RuntimeFault `options_invalid` when the definition states no risk
 *
 * @example
 * const sendMail = guard(runtime, { name: "send_mail", description: "Sends a mail.", risk: "high", input }, send);
 * await sendMail({ to: "ada@example.org" }, { principal, scopes: ["mail:write"] });
 *
 * @public
 */
export function guard<Input extends ToolInput, Result>(
  runtime: Runtime,
  definition: GuardDefinition<Input>,
  run: (given: ArgumentsOf<Input>, context: ToolContext) => Result,
): GuardedFunction<Input, Result> {
  const { name, description, input, ...statement } = definition;
  const execute = (given: unknown, context: ToolContext): unknown => run(given as ArgumentsOf<Input>, context); // validated
  registerLibraryTools(runtime, [{ original: run, name, description, input, execute }], { [name]: statement });
  return (async (given: unknown, context?: CallContext) => {
    const outcome = await runtime.invoke({ tool: name, arguments: given as JsonObject }, context);
    if (outcome.status !== "ok") throw new CallRefused(outcome);
    return outcome.structured ?? outcome.text;
  }) as GuardedFunction<Input, Result>; // the outcome has the return value of `run` as JSON
}
