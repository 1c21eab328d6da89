import { type JSONRPCMessage, SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { isJsonObject, type Json, type JsonObject, messageOf, parseStrict, RuntimeFault } from "@postern/core";
import { isAlive } from "@postern/core/system";
import { LineTransport, type Pipes } from "../../mcp/server/line-transport.ts";
import { patientFetch } from "../../server/client/patient-fetch.ts";
import { readToken } from "../../server/credentials.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { ServerFile } from "./server-file.ts";

/**
 * MCP over this process's pipes for a running Postern. Each message goes there unchanged, as the agent, and each answer
 * comes back unchanged. Ends when the client closes its pipe or its session is lost. A session of 2025-11-25 ends with its
 * Postern; the client then starts its server again.
 */
export async function bridgeStdio(
  { url, pid }: ServerFile,
  dataFolder: string,
  pipes: Pipes = { input: process.stdin, output: process.stdout },
): Promise<ExitCode> {
  const there = await reach(url, dataFolder);
  const here = new LineTransport(pipes);
  const { promise: ended, resolve: end } = Promise.withResolvers<ExitCode>();
  here.onclose = () => end(exitCodes.ok);
  here.onmessage = (message) => void forward(message as unknown as JSONRPCMessage, there, here); // it was read as one
  there.onmessage = (message) => {
    const version = negotiatedVersion(message);
    if (version !== undefined) there.setProtocolVersion(version);
    void here.send(message as unknown as JsonObject); // it was read from JSON
  };
  there.onerror = (error) => {
    const isLost = !isAlive(pid) || (error instanceof SdkHttpError && error.status === 404);
    if (there.sessionId === undefined || !isLost) return;
    end(exitCodes.failed);
    here.close();
  };
  await there.start();
  here.start();
  const code = await ended;
  await there.terminateSession().catch(() => undefined); // it may have gone before us; its own idle limit ends the session then
  await there.close();
  return code;
}

async function reach(url: string, dataFolder: string): Promise<StreamableHTTPClientTransport> {
  const token = await readToken(dataFolder, "agent");
  if (token === undefined)
    throw new RuntimeFault(
      "token_missing",
      `There is no agent.token in ${dataFolder}, though Postern runs at ${url}. Restart it.`,
    );
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  return new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit, fetch: patientFetch });
}

/** A request that cannot be forwarded gets an error answer, so that the client does not wait forever. */
async function forward(
  message: JSONRPCMessage,
  there: StreamableHTTPClientTransport,
  here: LineTransport,
): Promise<void> {
  try {
    await there.send(message);
  } catch (error) {
    if (!("id" in message) || !("method" in message)) return; // a notification has no answer
    const isBefore = there.sessionId === undefined && message.method !== "initialize";
    const refusal = refusalIn(error);
    await here.send({
      jsonrpc: "2.0",
      id: message.id,
      error: isBefore && refusal.code === -32_000 ? tooEarly : refusal,
    });
  }
}

/** The server's own message names headers, and a client over pipes sends none. */
const tooEarly = { code: -32_000, message: "Send `initialize` first: nothing is answered before it." } as const;

/** The refusal of the server in its own words, or what became of the message. */
function refusalIn(error: unknown): { readonly code: number; readonly message: string; readonly data?: Json } {
  const body = error instanceof SdkHttpError ? bodyOf(error.data["text"]) : undefined;
  const { code, message } = isJsonObject(body?.["error"]) ? body["error"] : {};
  if (typeof message !== "string")
    return { code: -32_603, message: `Postern did not take the message: ${messageOf(error)}` };
  if (typeof code === "number") return { code, message };
  return { code: -32_603, message, ...(code !== undefined && { data: { code } }) }; // a refusal of HTTP
}

function bodyOf(text: unknown): JsonObject | undefined {
  const read = typeof text === "string" ? parseStrict(text) : {};
  return "value" in read && isJsonObject(read.value) ? read.value : undefined;
}

/** The version that `initialize` agreed on: every later request of 2025-11-25 repeats it in a header. */
function negotiatedVersion(message: JSONRPCMessage): string | undefined {
  if (!("result" in message)) return undefined;
  const version: unknown = message.result["protocolVersion"];
  return typeof version === "string" ? version : undefined;
}
