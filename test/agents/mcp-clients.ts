/** The MCP clients of other projects, each in the same few verbs. */
import { join } from "node:path";
import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewHttp,
  type Transport as NewTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as NewStdio } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as OldTransport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { MCPServerStreamableHttp } from "@openai/agents";
import type { Gateway, McpRevision } from "../fakes/gateway.ts";

export type Arguments = Readonly<Record<string, unknown>>;

/** What a client has of MCP. Texts are JSON of whatever it gives. */
export interface PeerClient {
  /** Names of tools. */
  list(): Promise<readonly string[]>;
  /** The answer, or the message of what it throws. */
  call(name: string, given: Arguments): Promise<string>;
  /** Addresses of resources. */
  resources?(): Promise<readonly string[]>;
  read?(uri: string): Promise<string>;
  prompt?(name: string, given: Readonly<Record<string, string>>): Promise<string>;
  /** It can be asked for input, and accepts with these values. */
  readonly isAsked?: boolean;
  close(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  open(gateway: Gateway): Promise<PeerClient>;
}

const answer = { name: "Ada", check: true, color: "green", number: 7, email: "ada@example.org" };
const about = { name: "peer", version: "1" };
const accepted = { action: "accept" as const, content: answer };

async function textOf(work: Promise<unknown>): Promise<string> {
  try {
    const given = await work;
    return typeof given === "string" ? given : JSON.stringify(given);
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

/** Both generations of the SDK have the same verbs. */
function verbsOf(client: NewClient | OldClient): PeerClient {
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, given) => textOf(client.callTool({ name, arguments: { ...given } })),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: (uri) => textOf(client.readResource({ uri })),
    prompt: (name, given) => textOf(client.getPrompt({ name, arguments: { ...given } })),
    isAsked: true,
    close: () => client.close(),
  };
}

async function newSdk(transport: NewTransport, era: McpRevision): Promise<PeerClient> {
  const client = new NewClient(about, {
    versionNegotiation: { mode: era === "2025-11-25" ? "legacy" : { pin: era } },
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
  });
  client.setRequestHandler("elicitation/create", () => accepted);
  const content = { type: "text" as const, text: "said by a model" };
  client.setRequestHandler("sampling/createMessage", () => ({ model: "none", role: "assistant", content }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///root" }] }));
  await client.connect(transport);
  return verbsOf(client);
}

async function oldSdk(transport: OldTransport): Promise<PeerClient> {
  const client = new OldClient(about, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, () => accepted);
  await client.connect(transport);
  return verbsOf(client);
}

async function aiSdk(url: string, headers: Record<string, string>): Promise<PeerClient> {
  const transport = { type: "http", url, headers } as const;
  const client = await createMCPClient({ transport, capabilities: { elicitation: {} } });
  client.onElicitationRequest(ElicitationRequestSchema, () => accepted);
  const { tools } = await client.listTools();
  const made = client.toolsFromDefinitions({ tools });
  return {
    list: async () => Object.keys(made),
    call: (name, given) => {
      const tool = made[name];
      if (tool === undefined) return Promise.resolve(`There is no tool ${name}.`);
      return textOf(
        Promise.resolve(tool.execute(given as never, { toolCallId: "1", messages: [], context: {} } as never)),
      ); // checked by us
    },
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: (uri) => textOf(client.readResource({ uri })),
    prompt: (name, given) => textOf(client.getPrompt({ name, arguments: { ...given } })),
    isAsked: true,
    close: () => client.close(),
  };
}

async function openAiAgents(url: string, headers: Record<string, string>): Promise<PeerClient> {
  const server = new MCPServerStreamableHttp({ url, requestInit: { headers } });
  await server.connect();
  return {
    list: async () => (await server.listTools()).map(({ name }) => name),
    call: (name, given) => textOf(server.callTool(name, { ...given })),
    resources: async () => (await server.listResources()).resources.map(({ uri }) => uri),
    read: (uri) => textOf(server.readResource(uri)),
    close: () => server.close(),
  };
}

async function langChain(url: string, headers: Record<string, string>): Promise<PeerClient> {
  const client = new MultiServerMCPClient({ mcpServers: { postern: { transport: "http", url, headers } } });
  const tools = await client.getTools();
  return {
    list: async () => tools.map(({ name }) => name),
    call: (name, given) => {
      const tool = tools.find((one) => one.name === name);
      return tool === undefined ? Promise.resolve(`There is no tool ${name}.`) : textOf(tool.invoke({ ...given }));
    },
    resources: async () => Object.values(await client.listResources()).flatMap((of) => of.map(({ uri }) => uri)),
    read: (uri) => textOf(client.readResource("postern", uri)),
    close: () => client.close(),
  };
}

/** The command line of the inspector, a process for each request. */
function inspector(gateway: Gateway): PeerClient {
  const ask = async (...words: readonly string[]): Promise<string> => {
    const { out, err } = await gateway.inspect(...words);
    return out === "" ? err : out;
  };
  const pairs = (given: Arguments): readonly string[] =>
    Object.entries(given).map(
      ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
  const named = async (method: string, members: string, member: string): Promise<readonly string[]> => {
    const { result } = JSON.parse(await ask("--method", method)) as {
      result: Record<string, Record<string, string>[]>;
    }; // of the protocol
    return (result[members] ?? []).map((one) => String(one[member]));
  };
  return {
    list: () => named("tools/list", "tools", "name"),
    call: (name, given) => ask("--method", "tools/call", "--tool-name", name, "--tool-arg", ...pairs(given)),
    resources: () => named("resources/list", "resources", "uri"),
    read: (uri) => ask("--method", "resources/read", "--uri", uri),
    prompt: (name, given) => ask("--method", "prompts/get", "--prompt-name", name, "--prompt-args", ...pairs(given)),
    close: () => Promise.resolve(),
  };
}

const libraries = join(import.meta.dirname, "node_modules");

export const peers: readonly Peer[] = [
  {
    name: "MCP SDK 2.4, HTTP, 2026-07-28",
    open: async (gateway) => newSdk(new NewHttp(gateway.endpoint, await gateway.asAgent()), "2026-07-28"),
  },
  {
    name: "MCP SDK 2.4, HTTP, 2025-11-25",
    open: async (gateway) => newSdk(new NewHttp(gateway.endpoint, await gateway.asAgent()), "2025-11-25"),
  },
  {
    name: "MCP SDK 2.4, stdio, 2026-07-28",
    open: (gateway) => newSdk(new NewStdio({ ...gateway.stdio, stderr: "ignore" }), "2026-07-28"),
  },
  {
    name: "MCP SDK 1.32, HTTP",
    open: async (gateway) => oldSdk(new OldHttp(gateway.endpoint, await gateway.asAgent()) as OldTransport),
  },
  {
    name: "MCP SDK 1.32, stdio",
    open: (gateway) => oldSdk(new OldStdio({ ...gateway.stdio, stderr: "ignore" })),
  },
  {
    name: "AI SDK (`@ai-sdk/mcp` 2.0)",
    open: async (gateway) => aiSdk(gateway.endpoint.href, (await gateway.asAgent()).requestInit.headers),
  },
  {
    name: "OpenAI Agents 0.20",
    open: async (gateway) => openAiAgents(gateway.endpoint.href, (await gateway.asAgent()).requestInit.headers),
  },
  {
    name: "LangChain (`@langchain/mcp-adapters` 1.1)",
    open: async (gateway) => langChain(gateway.endpoint.href, (await gateway.asAgent()).requestInit.headers),
  },
  {
    name: "mcp-remote 0.15",
    open: async (gateway) => {
      const { authorization } = (await gateway.asAgent()).requestInit.headers;
      const header = ["--header", `Authorization:${authorization}`];
      const args = [join(libraries, "mcp-remote/dist/proxy.js"), gateway.endpoint.href, "--allow-http", ...header];
      return oldSdk(new OldStdio({ command: process.execPath, args, cwd: gateway.folder, stderr: "ignore" }));
    },
  },
  { name: "MCP inspector 2.12, command line", open: async (gateway) => inspector(gateway) },
];
