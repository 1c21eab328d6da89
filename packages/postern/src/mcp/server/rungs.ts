/**
 * How a call that needs a person's approval is presented to its client. The first rung that fits what the client declared
 * is used. On none of them does the client decide: only the console, the command line and the API take decisions.
 *
 * Next: call.ts (who uses them, and the second), tasks.ts (the first).
 */
import { isJsonObject, type JsonObject } from "@postern/core";
import type { CallParts } from "./call-parts.ts";
import type { McpRequest } from "./request-source.ts";

/** The extension of 2026-07-28; revision 2025-11-25 has tasks of its own. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/**
 * - `task`: the answer is a task, which the client polls.
 * - `page`: the client is asked to open the console's page of the request, and the call waits.
 * - `wait`: the call waits. A client that reads progress waits longer. In the end the answer is `approval_pending`.
 */
export type Rung = "task" | "page" | "wait";

type Fits = (request: McpRequest, parts: CallParts) => boolean;

const rungs: readonly (readonly [Rung, Fits])[] = [
  ["task", takesTask],
  ["page", ({ capabilities }, { console }) => opensPages(capabilities) && console?.() !== undefined],
  ["wait", () => true],
];

export function rungOf(request: McpRequest, parts: CallParts): Rung {
  return rungs.find(([, fits]) => fits(request, parts))?.[0] ?? "wait";
}

/** In 2025-11-25 a request asks for a task; since 2026-07-28 a client declares that it takes one. */
function takesTask({ isOld, params, capabilities }: McpRequest): boolean {
  return isOld ? isJsonObject(params["task"]) : declaresTasks(capabilities);
}

export function declaresTasks({ extensions }: JsonObject): boolean {
  return isJsonObject(extensions) && isJsonObject(extensions[tasksExtension]);
}

function opensPages({ elicitation }: JsonObject): boolean {
  return isJsonObject(elicitation) && isJsonObject(elicitation["url"]);
}
