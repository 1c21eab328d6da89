import { randomBytes } from "node:crypto";
import { shownDigest } from "../../packages/postern/src/approvals/binding.ts";
import type { ApprovalRoute } from "../../packages/postern/src/approvals/index.ts";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { keyFrom, sign } from "../../packages/postern/src/observe/notify/signature.ts";
import { bodyOf, httpFixture } from "./http-fixture.ts";
import type { RuntimeFixture } from "./runtime-fixture.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const key = keyFrom(secret) ?? Buffer.alloc(0);

/** Configures a channel `chat` that gets no notices, and from which these users may decide. */
export function withChannel(
  users: Readonly<Record<string, string>>,
  ...routes: readonly ApprovalRoute[]
): RuntimeOptions {
  const hook = { name: "chat", url: "https://chat.example/hook", secret: "secret://chat/key", users };
  return {
    secrets: { get: async () => ({ reveal: () => secret }) },
    channels: { webhooks: [{ ...hook, events: ["alarm.resolved"] }] },
    approvals: { patience: "suspend", routes },
  };
}

interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** The message as it was sent, to send it again. */
  readonly again: { readonly raw: string; readonly headers: Readonly<Record<string, string>> };
}

/** Sends a signed decision from the channel. @param sent its id, and its offset to the server's clock in seconds */
export async function sendDecision(
  h: RuntimeFixture,
  said: { readonly approvalId: string; readonly user: string; readonly decision?: string },
  sent: { readonly id?: string; readonly at?: number } = {},
): Promise<Answered> {
  await using http = await httpFixture(h.runtime, { clock: h.clock });
  const { approvalId, user, decision = "approved" } = said;
  const { id = randomBytes(8).toString("hex"), at = 0 } = sent;
  const approval = await h.runtime.approvals.get(approvalId);
  const expected_digest = decision === "approved" && approval ? shownDigest(approval) : undefined;
  const raw = JSON.stringify({ approval_id: approvalId, decision, user, expected_digest });
  const timestamp = Math.floor(h.clock.now() / 1000) + at;
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign(key, { id, timestamp, body: raw }),
  };
  const answered = await http.ask("/v1/channels/chat/decisions", { method: "POST", raw, headers });
  return { status: answered.status, body: await bodyOf(answered), again: { raw, headers } };
}
