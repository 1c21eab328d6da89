/**
 * Clients of both SDK generations that are asked to wait for a person, each on one rung: as a task, by a page to open, or by
 * waiting. One call of `send` is one method here, whichever messages the client exchanges for it.
 */
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as OldTransportPort } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../../packages/core/src/json.ts";

/** Where a client connects over HTTP. */
export interface ClientPlace {
  readonly url: string;
  readonly token: string;
}

export interface CalledTool {
  readonly isError: boolean;
  /** The text of the first block. */
  readonly text: string;
  /** The pages that the client was asked to open for this call. */
  readonly pages: readonly string[];
}

export interface ApprovalClient {
  readonly name: string;
  readonly rung: "task" | "page" | "wait";
  /** Connects, calls one tool, and leaves when it has ended. */
  call(place: ClientPlace, tool: string, args: Readonly<Record<string, string>>): Promise<CalledTool>;
}

const info = { name: "approval-client", version: "1" };
const pagesOnly = { elicitation: { url: {} } };
type Revision = "2025-11-25" | "2026-07-28";
type Connected = Pick<Client, "callTool" | "close">;
type Shown = { readonly content?: unknown; readonly isError?: unknown };

function shownResult(result: Shown, pages: string[]): CalledTool {
  const [first] = Array.isArray(result.content) ? result.content : [];
  return { isError: result.isError === true, text: String(first?.text), pages };
}

function headersOf({ token }: ClientPlace): { readonly headers: { readonly authorization: string } } {
  return { headers: { authorization: `Bearer ${token}` } };
}

export async function connectNew(
  place: ClientPlace,
  revision: Revision,
  capabilities: object = {},
  transport: Transport = new StreamableHTTPClientTransport(new URL("/mcp", place.url), {
    requestInit: headersOf(place),
  }),
): Promise<Client> {
  const mode = revision === "2025-11-25" ? "legacy" : { pin: revision };
  const client = new Client(info, { versionNegotiation: { mode }, capabilities });
  await client.connect(transport);
  return client;
}

export async function connectOld(place: ClientPlace, capabilities: object = {}): Promise<OldClient> {
  const client = new OldClient(info, { capabilities });
  const transport = new OldTransport(new URL("/mcp", place.url), { requestInit: headersOf(place) });
  await client.connect(transport as OldTransportPort); // its session id may be undefined
  return client;
}

/** A request of 2026-07-28 with its metadata. */
export interface RawRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface RawAnswer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** One raw request. The SDK's client takes no answer that is a task, so its tasks package leaves such requests to the caller. */
export async function sendRaw(place: ClientPlace, { method, params }: RawRequest): Promise<RawAnswer> {
  const headers = {
    ...headersOf(place).headers,
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": method },
    "mcp-name": String(params["taskId"] ?? params["name"]),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(new URL("/mcp", place.url), { method: "POST", headers, body });
  return answer.json() as Promise<RawAnswer>; // JSON-RPC
}

type SessionOptions = Parameters<typeof createTaskSessionFromClient>[1];

function dispatchTo(place: ClientPlace): NonNullable<SessionOptions["rawDispatch"]> {
  return async (request) => {
    const { result, error } = await sendRaw(place, request as unknown as RawRequest); // the package frames it so
    return error === undefined ? { kind: "result", result: result as JsonObject } : { kind: "error", error }; // JSON
  };
}

function asTask(revision: Revision): ApprovalClient {
  return {
    ...{ name: `SDK 2 with its tasks package, ${revision}`, rung: "task" },
    call: async (place, tool, args) => {
      const client = await connectNew(place, revision);
      const endpointId = place.url;
      const framing = { protocolVersion: revision, clientInfo: info, clientCapabilities: {} };
      const raw = { endpointId, rawDispatch: dispatchTo(place), v2RequestFraming: framing };
      const session = createTaskSessionFromClient(client, revision === "2026-07-28" ? raw : { endpointId });
      const execution = await session.callTool(tool, args);
      const { outcome } = await execution.settle();
      await session.close();
      await client.close();
      return shownResult(resultFromTaskOutcome(outcome) as Shown, []);
    },
  };
}

const oldAsTask: ApprovalClient = {
  ...{ name: "SDK 1 with its tasks", rung: "task" },
  call: async (place, tool, args) => {
    const client = await connectOld(place);
    const { tasks } = client.experimental;
    const stream = tasks.callToolStream({ name: tool, arguments: args }, CallToolResultSchema, { task: {} });
    const { value: made } = await stream.next();
    if (made?.type !== "taskCreated") throw new Error(`It made no task: ${JSON.stringify(made)}`);
    const result = await tasks.getTaskResult(made.task.taskId, CallToolResultSchema);
    await client.close();
    return shownResult(result, []);
  },
};

async function called(client: Connected, name: string, args: object, pages: string[]): Promise<CalledTool> {
  const result = await client.callTool({ name, arguments: { ...args } });
  await client.close();
  return shownResult(result, pages);
}

function byPage(revision: Revision): ApprovalClient {
  return {
    ...{ name: `SDK 2 that opens pages, ${revision}`, rung: "page" },
    call: async (place, tool, args) => {
      const pages: string[] = [];
      const client = await connectNew(place, revision, pagesOnly);
      client.setRequestHandler("elicitation/create", ({ params }) => {
        if (params.mode === "url") pages.push(params.url);
        return { action: "accept" };
      });
      return called(client, tool, args, pages);
    },
  };
}

const oldByPage: ApprovalClient = {
  ...{ name: "SDK 1 that opens pages", rung: "page" },
  call: async (place, tool, args) => {
    const pages: string[] = [];
    const client = await connectOld(place, pagesOnly);
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      if (params.mode === "url") pages.push(params.url);
      return { action: "accept" };
    });
    return called(client as unknown as Connected, tool, args, pages); // the same two methods
  },
};

function byWaiting(revision: Revision): ApprovalClient {
  return {
    ...{ name: `SDK 2, ${revision}`, rung: "wait" },
    call: async (place, tool, args) => called(await connectNew(place, revision), tool, args, []),
  };
}

const oldByWaiting: ApprovalClient = {
  ...{ name: "SDK 1", rung: "wait" },
  call: async (place, tool, args) => called((await connectOld(place)) as unknown as Connected, tool, args, []),
};

export const approvalClients: readonly ApprovalClient[] = [
  ...[asTask("2026-07-28"), asTask("2025-11-25"), oldAsTask],
  ...[byPage("2026-07-28"), byPage("2025-11-25"), oldByPage],
  ...[byWaiting("2026-07-28"), byWaiting("2025-11-25"), oldByWaiting],
];
