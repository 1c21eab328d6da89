/** What a call in Monty is given, as the host's arguments by name. */
import { isJsonObject, type Json, type JsonObject } from "../../../../calls/json.ts";
import { CannotLeave, fromMonty } from "./monty-values.ts";

export function progressOf(given: readonly unknown[], kwargs: object): JsonObject {
  const named = Object.fromEntries(
    Object.entries(kwargs).map(([key, value]): [string, Json] => [key, fromMonty(value, true)]),
  );
  const [message = "", fraction] = given;
  return {
    message: String(fromMonty(message, true)),
    ...(fraction !== undefined && { fraction: fromMonty(fraction, true) }),
    ...named,
  };
}

export function namedArguments(
  tool: { readonly name: string; readonly order: readonly string[] },
  given: readonly unknown[],
  kwargs: object,
): JsonObject {
  const [only] = given;
  if (given.length === 1 && only instanceof Map && tool.order.length !== 1 && Object.keys(kwargs).length === 0) {
    const value = fromMonty(only, true);
    return isJsonObject(value) ? value : {};
  }
  if (given.length > tool.order.length)
    throw new CannotLeave(
      "TypeError",
      `\`${tool.name}\` takes ${tool.order.length} arguments (${tool.order.join(", ")}), ${given.length} were given`,
    );
  const found = new Map<string, Json>(given.map((value, at) => [tool.order[at] ?? "", fromMonty(value, true)]));
  for (const [name, value] of Object.entries(kwargs)) {
    if (found.has(name)) throw new CannotLeave("TypeError", `\`${tool.name}\` was given \`${name}\` twice`);
    found.set(name, fromMonty(value, true));
  }
  return Object.fromEntries(found);
}
