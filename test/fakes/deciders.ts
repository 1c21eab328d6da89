import {
  type ApprovalRoute,
  type Decider,
  type DecisionAnswer,
  shownDigest,
} from "../../packages/postern/src/approvals/index.ts";
import type { CallRequest, RuntimeOptions } from "../../packages/postern/src/index.ts";
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

/** Options with these routes; calls suspend instead of waiting. */
export function routed(...routes: readonly ApprovalRoute[]): RuntimeOptions {
  return { approvals: { patience: "suspend", routes } };
}

/** Makes a call that needs approval and returns the approval's id. */
export async function ask(h: RuntimeFixture, request: CallRequest = mail()): Promise<string> {
  return (await h.runtime.invoke(request, asker)).approvalId ?? "";
}

/** Returns the digest that a person sees on the request now, as a decision sends it. */
export async function shownDigestOf(
  { runtime }: Pick<RuntimeFixture, "runtime">,
  id: string,
): Promise<{ readonly expectedDigest: string }> {
  const record = await runtime.approvals.get(id);
  if (record === undefined) throw new Error(`no approval ${id}`);
  return { expectedDigest: shownDigest(record) };
}

export function approve(h: RuntimeFixture, id: string, by: Decider, more: object = {}): Promise<DecisionAnswer> {
  return h.runtime.approvals.decide(id, { decision: "approved", by, ...more });
}

export function deny(h: RuntimeFixture, id: string, by: Decider): Promise<DecisionAnswer> {
  return h.runtime.approvals.decide(id, { decision: "denied", by });
}
