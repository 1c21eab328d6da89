/**
 * A real MCP server over HTTP, by the SDK, with the tools, resources and prompts that the conformance suite expects. It
 * speaks both revisions: in 2025-11-25 a tool asks while it runs, in 2026-07-28 its result asks.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ContentBlock,
  createMcpHandler,
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  isLegacyRequest,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { asking } from "./reference-questions.ts";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";
const image: ContentBlock = { type: "image", data: png, mimeType: "image/png" };
const text = (value: string): ContentBlock => ({ type: "text", text: value });
const embedded = (uri: string, mimeType: string, value: string): ContentBlock => ({
  type: "resource",
  resource: { uri, mimeType, text: value },
});
const answerOf = (value: string): CallToolResult => ({ content: [text(value)] });

type Tool = (server: Server, context: ServerContext) => Promise<CallToolResult> | CallToolResult;

const tools: ReadonlyMap<string, Tool> = new Map(
  Object.entries({
    test_simple_text: () => answerOf("This is a simple text response for testing."),
    test_image_content: () => ({ content: [image] }),
    test_audio_content: () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] }),
    test_embedded_resource: () => ({
      content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    }),
    test_multiple_content_types: () => ({
      content: [
        text("Multiple content types test:"),
        image,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ],
    }),
    test_error_handling: () => ({ isError: true, ...answerOf("This tool intentionally returns an error for testing") }),
    test_tool_with_logging: logged,
    test_logging_tool: logged,
    test_tool_with_progress: worked,
    test_missing_capability: needsSampling,
    test_trigger_tool_change: toolsChanged,
    test_trigger_prompt_change: promptsChanged,
  } satisfies Readonly<Record<string, Tool>>),
);

async function logged(_server: Server, { mcpReq }: ServerContext): Promise<CallToolResult> {
  for (const step of ["started", "processing data", "completed"]) await mcpReq.log("info", `Tool execution ${step}`);
  return answerOf("Logged three messages.");
}

async function worked(_server: Server, { mcpReq }: ServerContext): Promise<CallToolResult> {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100])
    if (progressToken !== undefined)
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
  return answerOf("Worked to the end.");
}

/** What the client can do, as its request states it. Returns undefined in 2025-11-25. The SDK's type of it is empty. */
function statedIn({ envelope }: ServerContext["mcpReq"]): ClientCapabilities | undefined {
  const stated = envelope as Readonly<Record<string, ClientCapabilities>> | undefined;
  return stated && (stated[CLIENT_CAPABILITIES_META_KEY] ?? {});
}

function needsSampling(_server: Server, { mcpReq }: ServerContext): CallToolResult {
  if (statedIn(mcpReq)?.sampling === undefined)
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  return answerOf("The client has it.");
}

/** How often each list changed. */
const changes = { tools: 0, prompts: 0 };

/** These come and go: after each change another one is missing, so that no two changes cancel out. */
function changing(prefix: string, count: number): readonly string[] {
  return [1, 2, 3].filter((number) => number !== count % 4).map((number) => `${prefix}_${number}`);
}

async function toolsChanged(server: Server, { mcpReq }: ServerContext): Promise<CallToolResult> {
  changes.tools += 1;
  if (mcpReq.envelope === undefined) await server.sendToolListChanged();
  else handler.notify.toolsChanged();
  return answerOf("The tools changed.");
}

async function promptsChanged(server: Server, { mcpReq }: ServerContext): Promise<CallToolResult> {
  changes.prompts += 1;
  if (mcpReq.envelope === undefined) await server.sendPromptListChanged();
  else handler.notify.promptsChanged();
  return answerOf("The prompts changed.");
}

interface State {
  readonly round: number;
}

const states = createRequestStateCodec<State>({ key: randomBytes(32) });

/** What a tool or a prompt asks, in the way of the client's revision. Returns undefined when all is answered. */
async function asked(name: string, { mcpReq }: ServerContext): Promise<InputRequiredResult | undefined> {
  const rounds = asking.get(name)?.rounds ?? [];
  const stated = statedIn(mcpReq);
  if (stated === undefined) {
    for (const { request } of rounds.flatMap((questions) => Object.values(questions)))
      await mcpReq.send({ method: request.method, params: { ...request.params } });
    return undefined;
  }
  const before = mcpReq.requestState<State>()?.round ?? 0;
  const isAnswered = Object.keys(rounds[before] ?? {}).some((key) => mcpReq.inputResponses?.[key] !== undefined);
  const round = isAnswered ? before + 1 : before;
  if (round >= rounds.length) return undefined;
  const able = Object.entries(rounds[round] ?? {}).filter(([, { needs }]) => stated[needs] !== undefined);
  const inputRequests: InputRequests = Object.fromEntries(able.map(([key, { request }]) => [key, request]));
  return inputRequired({ inputRequests, requestState: await states.mint({ round }) });
}

type Given = Readonly<Record<string, string>>;

interface Prompt {
  readonly names: readonly string[];
  readonly blocks: (given: Given) => readonly ContentBlock[];
}

const prompts: ReadonlyMap<string, Prompt> = new Map(
  Object.entries({
    test_simple_prompt: { names: [], blocks: () => [text("This is a simple prompt for testing.")] },
    test_prompt_with_arguments: {
      names: ["arg1", "arg2"],
      blocks: ({ arg1, arg2 }: Given) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    },
    test_prompt_with_embedded_resource: {
      names: ["resourceUri"],
      blocks: ({ resourceUri = "" }: Given) => [
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ],
    },
    test_prompt_with_image: { names: [], blocks: () => [image, text("Please analyze the image above.")] },
    test_input_required_result_prompt: { names: [], blocks: () => [text("With the context of the user.")] },
  }),
);

const resources: ReadonlyMap<string, { readonly text: string } | { readonly blob: string }> = new Map<
  string,
  { readonly text: string } | { readonly blob: string }
>([
  ["test://static-text", { text: "This is the content of the static text resource." }],
  ["test://static-binary", { blob: png }],
  ["test://watched-resource", { text: "Watched." }],
]);

function read(uri: string) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { uri, mimeType: "application/json", text: data };
  }
  const found = resources.get(uri);
  if (found === undefined) throw new ProtocolError(-32_602, "Resource not found", { uri });
  return { uri, mimeType: "blob" in found ? "image/png" : "text/plain", ...found };
}

const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

function makeServer(): Server {
  const server = new Server(
    { name: "reference", version: "1" },
    { capabilities, requestState: { verify: states.verify } },
  );
  offerTools(server);
  offerResources(server);
  offerPrompts(server);
  return server;
}

function offerTools(server: Server): void {
  server.setRequestHandler("tools/list", () => {
    const ofAsking = [...asking].filter(([, { isPrompt }]) => !isPrompt).map(([name]) => name);
    const names = [...tools.keys(), ...ofAsking, ...changing("test_changing_tool", changes.tools)];
    return {
      tools: names.map((name) => ({
        name,
        description: `The tool ${name} of the conformance suite.`,
        inputSchema: { type: "object" as const },
      })),
    };
  });
  server.setRequestHandler("tools/call", async ({ params: { name } }, context) => {
    const tool = tools.get(name);
    if (tool !== undefined) return tool(server, context);
    const { says } = asking.get(name) ?? {};
    if (says === undefined) throw new ProtocolError(-32_602, `There is no tool ${name}.`);
    return (await asked(name, context)) ?? answerOf(says);
  });
}

function offerResources(server: Server): void {
  server.setRequestHandler("resources/list", () => ({
    resources: [...resources.keys()].map((uri) => ({ uri, name: uri, description: `The resource ${uri}.` })),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", description: "By its id." }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => ({ contents: [read(uri)] }));
  server.setRequestHandler("resources/subscribe", () => ({}));
  server.setRequestHandler("resources/unsubscribe", () => ({}));
}

function offerPrompts(server: Server): void {
  server.setRequestHandler("prompts/list", () => ({
    prompts: [
      ...[...prompts].map(([name, { names }]) => ({
        name,
        description: `The prompt ${name}.`,
        arguments: names.map((argument) => ({ name: argument, required: true })),
      })),
      ...changing("test_changing_prompt", changes.prompts).map((name) => ({ name, description: "It comes and goes." })),
    ],
  }));
  server.setRequestHandler("prompts/get", async ({ params: { name, arguments: given = {} } }, context) => {
    const prompt = prompts.get(name);
    if (prompt === undefined) throw new ProtocolError(-32_602, `There is no prompt ${name}.`);
    const messages = prompt.blocks(given).map((content) => ({ role: "user" as const, content }));
    return (asking.has(name) ? await asked(name, context) : undefined) ?? { messages };
  });
  server.setRequestHandler("completion/complete", ({ params: { argument } }) => ({
    completion: { values: ["paris", "park", "party"].filter((value) => value.startsWith(argument.value)) },
  }));
}

const handler = createMcpHandler(makeServer);
/** Of revision 2025-11-25. */
const sessions = new Map<string | null, WebStandardStreamableHTTPServerTransport>();

async function answer(request: Request): Promise<Response> {
  if (!(await isLegacyRequest(request))) return handler.fetch(request);
  const known = sessions.get(request.headers.get("mcp-session-id"));
  if (known !== undefined) return known.handleRequest(request);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await makeServer().connect(transport);
  return transport.handleRequest(request);
}

export interface ReferenceServer extends Disposable {
  readonly url: string;
}

export async function startReferenceServer(): Promise<ReferenceServer> {
  const server = createServer(getRequestListener(answer));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
