import { type JSONRPCMessage, SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { parseStrict } from "../core/strict-json.ts";
import { isAlive } from "../core/system/alive.ts";
import { LineTransport, type Pipes } from "../mcp/server/line-transport.ts";
import { patientSend } from "../server/client/patient-send.ts";
import { readToken } from "../server/credentials.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { ServerFile } from "./server-file.ts";

/**
 * MCP over this process's pipes for a Postern that runs already: each message goes there as it is, as the agent, and
 * each answer comes back as it is. Ends when the client closes its pipe, and when its session is lost: a session of
 * 2025-11-25 dies with its Postern, no message brings it back, and a client whose server ends starts it anew.
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
  here.onmessage = (message) => void forward(message, there, here);
  there.onmessage = (message) => {
    const version = negotiatedVersion(message);
    if (version !== undefined) there.setProtocolVersion(version);
    void here.send(message);
  };
  there.onerror = (error) => {
    const isLost = !isAlive(pid) || (error instanceof SdkHttpError && error.status === 404);
    if (there.sessionId === undefined || !isLost) return;
    end(exitCodes.failed);
    void here.close();
  };
  await there.start();
  await here.start();
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
  const fetch = (to: string | URL, init?: RequestInit): Promise<Response> => patientSend(new Request(to, init));
  return new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit, fetch });
}

/** A request that could not be carried gets an answer all the same: a client must not wait for ever. */
async function forward(
  message: JSONRPCMessage,
  there: StreamableHTTPClientTransport,
  here: LineTransport,
): Promise<void> {
  try {
    await there.send(message);
  } catch (error) {
    if (!("id" in message) || !("method" in message)) return; // nobody waits for an answer to a notification
    const isBefore = there.sessionId === undefined && message.method !== "initialize";
    const refusal = refusalIn(error);
    await here.send({
      jsonrpc: "2.0",
      id: message.id,
      error: isBefore && refusal.code === -32_000 ? tooEarly : refusal,
    });
  }
}

/** Its door would speak of headers, which a client over pipes does not send. */
const tooEarly = { code: -32_000, message: "Send `initialize` first: nothing is answered before it." } as const;

/** What the door there said, in its own words; where it said nothing, what became of the message. */
function refusalIn(error: unknown): { readonly code: number; readonly message: string; readonly data?: Json } {
  const said = error instanceof SdkHttpError ? bodyOf(error.data["text"]) : undefined;
  const { code, message } = isJsonObject(said?.["error"]) ? said["error"] : {};
  if (typeof message !== "string")
    return { code: -32_603, message: `Postern did not take the message: ${messageOf(error)}` };
  if (typeof code === "number") return { code, message };
  return { code: -32_603, message, ...(code !== undefined && { data: { code } }) }; // a refusal in HTTP's words
}

function bodyOf(text: unknown): JsonObject | undefined {
  const read = typeof text === "string" ? parseStrict(text) : {};
  return "value" in read && isJsonObject(read.value) ? read.value : undefined;
}

/** What `initialize` settled on: every later request of 2025-11-25 repeats it in a header. */
function negotiatedVersion(message: JSONRPCMessage): string | undefined {
  if (!("result" in message)) return undefined;
  const version: unknown = message.result["protocolVersion"];
  return typeof version === "string" ? version : undefined;
}
