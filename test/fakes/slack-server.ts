import { createServer } from "node:http";
import type { JsonObject } from "../../packages/core/src/json.ts";
import { signAsSlack } from "../../packages/postern/src/observe/notify/signature.ts";

/** A call of Slack's Web API. */
export interface SlackCall {
  readonly method: string;
  readonly token: string;
  readonly sent: JsonObject;
}

export interface SlackServer extends AsyncDisposable {
  /** For `api_url`. */
  readonly url: string;
  readonly calls: SlackCall[];
  /** Errors of the next calls, in order; undefined succeeds. Then all succeed. */
  readonly errors: (string | undefined)[];
  /** Resolves to the calls when so many of a method have arrived. */
  count(method: string, wanted: number): Promise<readonly SlackCall[]>;
}

/** A local Slack, as far as Postern uses it. The messages have the ids `1.0`, `2.0`, … */
export async function slackServer(): Promise<SlackServer> {
  const calls: SlackCall[] = [];
  const errors: (string | undefined)[] = [];
  const waiting = new Set<() => void>();
  let messages = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const sent = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject; // Postern sends objects
      const method = (request.url ?? "").replace("/api/", "");
      calls.push({ method, token: request.headers.authorization ?? "", sent });
      const error = errors.shift();
      if (method === "chat.postMessage" && error === undefined) messages += 1;
      const ts = method === "chat.update" ? sent["ts"] : `${messages}.0`;
      const answer = error === undefined ? { ok: true, ts, channel: sent["channel"] } : { ok: false, error };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/api`,
    calls,
    errors,
    count: (method, wanted) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = calls.filter((call) => call.method === method);
          if (found.length < wanted) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The button of a message that has this action. */
export function buttonIn({ sent }: SlackCall, action: string): { readonly value: string } | undefined {
  const blocks = sent["blocks"] as readonly { readonly elements?: readonly { action_id: string; value: string }[] }[]; // of a message
  return blocks.flatMap(({ elements = [] }) => elements).find(({ action_id }) => action_id === action);
}

/** What Slack sends when a person presses a button. */
export function pressed(user: string, action: string, value: string): object {
  return {
    ...{ type: "block_actions", user: { id: user, name: "x" }, trigger_id: "trigger.1", team: { id: "T1" } },
    container: { type: "message", message_ts: "1.0", channel_id: "C1" },
    actions: [{ type: "button", block_id: "b", action_id: action, value }],
  };
}

/** What Slack sends when a person submits a dialog. */
export function submitted(user: string, metadata: string, reason: string | null): object {
  const values = { reason: { reason: { type: "plain_text_input", value: reason } } };
  return {
    type: "view_submission",
    user: { id: user },
    view: { id: "V1", private_metadata: metadata, state: { values } },
  };
}

/** The body and headers of such a request. @param now seconds since 1970 */
export function signedBySlack(
  payload: object,
  key: string,
  now: number,
): { readonly raw: string; readonly headers: Readonly<Record<string, string>> } {
  const raw = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  return {
    raw,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": String(now),
      "x-slack-signature": signAsSlack(Buffer.from(key), { timestamp: now, body: raw }),
    },
  };
}
