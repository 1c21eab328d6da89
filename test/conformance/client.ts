/**
 * The "client under test" of the conformance suite: a gateway with the suite's server behind it, and an MCP client that uses
 * all that the gateway offers. The suite gives the address of its server as the last argument. The person signs
 * in by following redirects, and accepts every question with the values that it proposes.
 */
import { setTimeout } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { openGateway } from "./gateway.ts";

interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Given }[];
}

type Given = Readonly<Record<string, unknown>>;

interface Schema {
  readonly type?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const url = process.argv.at(-1) ?? "";
const { env } = process;
const isSignedIn = env["MCP_CONFORMANCE_SCENARIO"]?.startsWith("auth/") === true;
const context: Context = JSON.parse(env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
const revision = env["MCP_CONFORMANCE_PROTOCOL_VERSION"] === "2026-07-28" ? "2026-07-28" : "2025-11-25";

const person = { tenant: "default", user: "operator" };
const mostSignIns = 3;

/** A value for each member that has a type. */
function valuesFor({ properties = {} }: Schema): Record<string, unknown> {
  const values = { number: 5, integer: 5, boolean: true, string: "text" } as const;
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { type, default: proposed }]) => {
      const value = proposed ?? (Object.hasOwn(values, type ?? "") ? values[type as keyof typeof values] : undefined);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

let signIns = 0;

/** Resolves to whether the person has signed in once more. */
async function hasSignedIn({ connections }: Runtime): Promise<boolean> {
  if (connections === undefined || signIns === mostSignIns) return false;
  signIns += 1;
  try {
    const { url: page, binder } = await connections.begin("suite", person, {
      redirectUri: "http://127.0.0.1:7420/v1/connections/callback",
      clientDocument: "https://conformance-test.local/client-metadata.json",
    });
    const { headers } = await fetch(page, { redirect: "manual" });
    const back = new URL(headers.get("location") ?? "");
    const finished = await connections.finish(back.searchParams, binder);
    console.error("sign-in", finished);
    return finished.refused === undefined;
  } catch (error) {
    console.error("sign-in", error); // scenarios with a wrong authorization server expect it
    return false;
  }
}

/** Resolves to whether the server is connected, when no attempt is under way. */
async function isConnected(runtime: Runtime): Promise<boolean> {
  for (;;) {
    const [server] = runtime.health().servers;
    if (server?.status !== "connecting") {
      console.error(server);
      return server?.status === "connected";
    }
    await setTimeout(10);
  }
}

async function connectedClient(gateway: string): Promise<Client> {
  const mode = revision === "2025-11-25" ? "legacy" : { pin: revision };
  const client = new Client(
    { name: "conformance", version: "1" },
    { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} } },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => ({
    action: "accept",
    content: valuesFor(("requestedSchema" in params ? params.requestedSchema : {}) as Schema) as never,
  }));
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp/suite", gateway)));
  return client;
}

/** Makes a call, and makes it again after each sign-in that it needs. */
async function call(client: Client, runtime: Runtime, name: string, given: Given): Promise<void> {
  do {
    const result = await client.callTool({ name, arguments: given });
    console.error("call", name, JSON.stringify(result).slice(0, 400));
    const { details } = (result.structuredContent ?? {}) as { readonly details?: { readonly sign_in_url?: string } };
    if (details?.sign_in_url === undefined) return;
  } while ((await hasSignedIn(runtime)) && (await isConnected(runtime)));
}

async function useAll(client: Client, runtime: Runtime): Promise<void> {
  const { tools } = await client.listTools();
  const calls =
    context.toolCalls ?? tools.map(({ name, inputSchema }) => ({ name, arguments: valuesFor(inputSchema as Schema) }));
  for (const { name, arguments: given } of calls) await call(client, runtime, name, given);
  const { prompts } = await client.listPrompts();
  for (const { name } of prompts) await client.getPrompt({ name });
  const { resources } = await client.listResources();
  for (const { uri } of resources) await client.readResource({ uri });
}

const secrets = environmentSecrets({ environment: { POSTERN_SECRET_SUITE_CLIENT: context.client_secret } });
const oauth = {
  ...(context.client_id !== undefined && { clientId: context.client_id }),
  ...(context.client_secret !== undefined && { clientSecret: "secret://suite/client" }),
};
await using gateway = await openGateway({
  servers: {
    suite: { url, risk: "safe", mayAsk: ["elicitation", "sampling", "roots"], ...(isSignedIn && { oauth }) },
  },
  secrets,
  connections: { consoleUrl: () => "http://127.0.0.1:7420" },
});
const { runtime } = gateway;
let isUsable = await isConnected(runtime);
while (isSignedIn && !isUsable && (await hasSignedIn(runtime))) isUsable = await isConnected(runtime);
if (isUsable) {
  const client = await connectedClient(gateway.url);
  await useAll(client, runtime);
  await client.close();
}
