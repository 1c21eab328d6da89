import { type ApprovalRoute, type Decided, type Decider, shownDigest } from "../../src/approvals/index.ts";
import type { CallRequest, RuntimeOptions } from "../../src/index.ts";
import { asker, type RuntimeFixture } from "./runtime-fixture.ts";

export const ann: Decider = {
  user: "ann",
  via: "session:1",
  tenant: "default",
  roles: ["approver"],
  groups: ["ops"],
  signedIn: true,
};
export const bob: Decider = { user: "bob", via: "session:2", tenant: "default", roles: ["approver"], signedIn: true };
export const cal: Decider = { user: "cal", via: "session:3", tenant: "default", roles: ["viewer"], signedIn: true };
export const operatorToken: Decider = { user: "operator", via: "token:operator", tenant: "default" };

export function mail(to = "x"): { readonly tool: "mail"; readonly arguments: { readonly to: string } } {
  return { tool: "mail", arguments: { to } };
}

/** Calls do not wait for their answer, and these routes say who gives it. */
export function routed(...routes: readonly ApprovalRoute[]): RuntimeOptions {
  return { approvals: { patience: "suspend", routes } };
}

/** The id of the approval that was asked for. */
export async function ask(h: RuntimeFixture, request: CallRequest = mail()): Promise<string> {
  return (await h.runtime.invoke(request, asker)).approvalId ?? "";
}

/** What a decision brings of whoever looked at the request as it stands. */
export async function shownDigestOf(
  { runtime }: Pick<RuntimeFixture, "runtime">,
  id: string,
): Promise<{ readonly expectedDigest: string }> {
  const record = await runtime.approvals.get(id);
  if (record === undefined) throw new Error(`no approval ${id}`);
  return { expectedDigest: shownDigest(record) };
}

export function approve(h: RuntimeFixture, id: string, by: Decider, more: object = {}): Promise<Decided> {
  return h.runtime.approvals.decide(id, { decision: "approved", by, ...more });
}

export function deny(h: RuntimeFixture, id: string, by: Decider): Promise<Decided> {
  return h.runtime.approvals.decide(id, { decision: "denied", by });
}
