import {
  type ApprovalRecord,
  type CallState,
  defined,
  noOpaqueFields,
  rolesWith,
  toCamelCase,
  toSnakeCase,
} from "@postern/core";
import {
  approval,
  approvals,
  type BodyOf,
  type DecisionVerb,
  type Input,
  shape,
  type ViewerInput,
} from "@postern/core/contract";
import { type DecisionRequest, type Eligible, noApproval } from "../../approvals/decision.ts";
import { isAsker } from "../../approvals/eligibility.ts";
import type { Decider, DecisionAnswer, Runtime } from "../../runtime/api/api.ts";
import type { SharedMember } from "../../store/store.ts";
import type { Who } from "../credentials.ts";
import { approvalToWire, grantToWire } from "../wire.ts";
import { answerOutcome, problem } from "./answers.ts";
import { spendOne } from "./budget.ts";
import { actorOf, askerOf, deciderOf, visibleApproval } from "./caller.ts";
import { rememberOf } from "./grant-routes.ts";
import { type Route, type RouteRequest, refusePermission, serve } from "./route.ts";

export const approvalRoutes: readonly Route[] = serve(approvals, {
  list: async ({ runtime, by, query: { mine, ...where } }) => {
    const { tenant } = by.principal;
    const decider = mine === true ? deciderOf(by) : undefined;
    const filter = { tenant, ...askerOf(by), ...toCamelCase(where, noOpaqueFields) };
    const page = await runtime.approvals.page(filter, decider);
    const shown = await answersFor(runtime, by, page.approvals);
    const { nextAfter: next_after, waiting, soonUntil: soon_until } = page;
    return { approvals: shown, next_after, waiting, soon_until };
  },
  groups: async ({ runtime, by, query: { mine, by: names = "", ...where } }) => {
    const { tenant } = by.principal;
    const decider = mine === true ? deciderOf(by) : undefined;
    const members = [...new Set(names.split(",").filter(Boolean))].map((name) => (name === "run_id" ? "runId" : name));
    const filter = { tenant, ...askerOf(by), limit: 100, ...toCamelCase(where, noOpaqueFields) };
    const groups = await runtime.approvals.groups({ ...filter, by: members as SharedMember[] }, decider); // as the contract has them
    return { groups: toSnakeCase(groups, noOpaqueFields) };
  },
  counts: async ({ runtime, by }) => {
    const { requests, unknownCalls } = await runtime.approvals.counts(by.principal.tenant);
    return { requests, unknown_calls: unknownCalls };
  },
  show: (request) => withApproval(request, (found) => wholeAnswer(request.runtime, request.by, found)),
  approve: (request) => decide(request, { decision: "approved", ...decisionOf(request.body) }),
  deny: (request) => decide(request, { decision: "denied", ...decisionOf(request.body) }),
  skip: (request) => decide(request, { decision: "skipped", ...decisionOf(request.body) }),
  modify: (request) => decide(request, { decision: "modified", ...decisionOf(request.body) }),
  batch: async ({ runtime, by, body: { ids, decision, reason, expected_digests: expectedDigests }, refused }) => {
    const request = { decision, ...defined({ reason, expectedDigests }), by: deciderOf(by) };
    const made = await runtime.approvals.decideMany(ids, request);
    if (!made.taken) return problem(made.code, made.message);
    const found = made.answers.flatMap(({ decided }) => decided.approval ?? []);
    const answers = await answersFor(runtime, by, found);
    const shown = new Map(found.map(({ id }, i) => [id, answers[i]]));
    return {
      answers: made.answers.map(({ id, decided }) => {
        if (!decided.decided) refused();
        return {
          approval_id: id,
          decided: decided.decided,
          approval: shown.get(id),
          error: decided.decided ? undefined : { code: decided.code, message: decided.message },
        };
      }),
    };
  },
  comment: (request) =>
    withApproval(request, async ({ id }) => {
      const { runtime, by, body } = request;
      return answerDecided(runtime, by, await runtime.approvals.comment(id, deciderOf(by), body.text));
    }),
  withdraw: (request) =>
    withApproval(request, async (found) => {
      const { runtime, by, body } = request;
      if (!mayWithdraw(by, found)) return refusePermission("calls:make", by);
      return answerDecided(runtime, by, await runtime.approvals.withdraw(found.id, withdrawer(by), body.reason));
    }),
  revoke: (request) =>
    withApproval(request, async ({ id }) => {
      const { runtime, by, body } = request;
      return answerDecided(runtime, by, await runtime.approvals.revoke(id, deciderOf(by), body.reason));
    }),
  resume: (request) => withApproval(request, (found) => resume(request, found)),
});

type ApprovalAnswer = Input<typeof approval>;

/** The call of an approved request was counted when it arrived; any other resume is a new question. */
async function resume(
  request: RouteRequest<typeof approvals.resume>,
  { id, tool, state, runId }: ApprovalRecord,
): Promise<Response> {
  const { runtime, by, signal } = request;
  const refused = state === "approved" ? undefined : await spendOne(request);
  if (refused !== undefined) return refused;
  if (by.kind === "person" && state === "approved")
    await runtime.note("operator.action.call_resumed", `The approved call of ${tool} is let run`, {
      ...actorOf(by),
      data: { approval_id: id, tool, run: runId },
    });
  const outcome = await runtime.resume(id, { ...askerOf(by), signal });
  return outcome === undefined ? unknownApproval(id) : answerOutcome(outcome, tool);
}

/** An approval that the caller may not know of is answered as one that does not exist. */
async function withApproval<Answer>(
  { runtime, by, part }: Pick<RouteRequest, "runtime" | "by" | "part">,
  then: (found: ApprovalRecord) => Promise<Answer>,
): Promise<Answer | Response> {
  const found = await visibleApproval(runtime, by, part("id"));
  return found === undefined ? unknownApproval(part("id")) : then(found);
}

/** The decider comes from the credential, never from a field of the body. */
function decide(request: RouteRequest, decision: Omit<DecisionRequest, "by">): Promise<Response | ApprovalAnswer> {
  return withApproval(request, async ({ id }) => {
    const { runtime, by } = request;
    return answerDecided(runtime, by, await runtime.approvals.decide(id, { ...decision, by: deciderOf(by) }));
  });
}

function decisionOf({
  expected_digest: expectedDigest,
  remember,
  ...body
}: BodyOf<typeof approvals.approve>): Omit<DecisionRequest, "by" | "decision"> {
  return { ...body, ...defined({ expectedDigest, remember: remember && rememberOf(remember) }) };
}

async function answerDecided(runtime: Runtime, by: Who, decided: DecisionAnswer): Promise<Response | ApprovalAnswer> {
  if (decided.decided) {
    const shown = await wholeAnswer(runtime, by, decided.approval);
    const { grant } = decided;
    return grant === undefined
      ? shown
      : { ...shown, grant: grantToWire(grant, runtime.approvals.grants.stateOf(grant)) };
  }
  const shown = decided.approval && shape(approval, await wholeAnswer(runtime, by, decided.approval));
  return problem(decided.code, decided.message, {
    ...(decided.refusal && { details: { refusal: { ...decided.refusal } } }),
    ...(shown && { beside: { approval: shown } }),
  });
}

/** Approvals as a caller sees them: each with what this caller may decide. */
async function answersFor(
  runtime: Runtime,
  by: Who,
  records: readonly ApprovalRecord[],
): Promise<readonly ApprovalAnswer[]> {
  const eligible = await runtime.approvals.eligibility(records, deciderOf(by));
  const states = await statesOfCalls(runtime, records);
  return records.map((record, i) => {
    const { requirement, ...may } = eligible[i] ?? { may: [], requirement: undefined };
    const viewer = by.permissions.has("approvals:decide") ? viewerOf(may) : onlyReads;
    const shown = approvalToWire(record, requirement, { ...viewer, ...withdrawing(by, record) });
    return { ...shown, call_state: states.get(record.id) };
  });
}

/** Of the calls that used these approvals, by approval. A call that asked again later has another one. */
async function statesOfCalls(
  { calls }: Runtime,
  records: readonly ApprovalRecord[],
): Promise<ReadonlyMap<string | undefined, CallState>> {
  const keys = records.flatMap(({ state, key }) => (state === "used" ? key : []));
  const used = keys.length === 0 ? [] : await calls.list({ keys });
  return new Map(used.map(({ approvalId, state }) => [approvalId, state]));
}

/** With the schema of the tool as it is now, from which a form is made. */
async function wholeAnswer(runtime: Runtime, by: Who, record: ApprovalRecord): Promise<ApprovalAnswer> {
  const [shown = approvalToWire(record)] = await answersFor(runtime, by, [record]);
  const offer = runtime.tools.offer(record.tool, record.action);
  const sub_agent = offer?.toolType === "A2A" ? await subAgentOf(runtime, record) : undefined;
  return { ...shown, input_schema: offer?.inputSchema, sub_agent };
}

/** A sub-agent has the authority of the call in which it works, and its tool can only narrow that. */
async function subAgentOf(runtime: Runtime, { key }: ApprovalRecord): Promise<ApprovalAnswer["sub_agent"]> {
  const { authority } = (await runtime.calls.get(key))?.call ?? {};
  if (authority === undefined) return undefined;
  const { scopes, tools, autonomy, maxRiskUnapproved } = authority;
  return { scopes, tools, autonomy_level: autonomy, max_risk_unapproved: maxRiskUnapproved };
}

/** A caller that may make calls may withdraw any; a person who decides, only what an agent of theirs asked. */
function mayWithdraw({ kind, permissions, decider }: Who, record: ApprovalRecord): boolean {
  if (permissions.has("calls:make")) return true;
  return kind === "person" && permissions.has("approvals:decide") && isAsker(record, decider.user);
}

/** Offered only for the caller's own requests. */
function withdrawing(by: Who, record: ApprovalRecord): Pick<ViewerInput, "withdraws"> {
  const isTheirs = by.kind === "agent" || isAsker(record, by.decider.user);
  return record.state === "pending" && isTheirs && mayWithdraw(by, record) ? { withdraws: true } : {};
}

function withdrawer(by: Who): Decider {
  if (by.kind === "person") return deciderOf(by);
  const { agent, tenant, via } = by.principal;
  return { user: agent, tenant, ...defined({ via }) };
}

const onlyReads: ViewerInput = {
  may: [],
  why_not: "role",
  message: `You may look at requests, not decide them: that takes the role ${rolesWith("approvals:decide").join(" or ")}.`,
};

const verbs: Readonly<Record<DecisionRequest["decision"], DecisionVerb>> = {
  approved: "approve",
  denied: "deny",
  skipped: "skip",
  modified: "modify",
};

function viewerOf({ may, whyNot }: Omit<Eligible, "requirement">): ViewerInput {
  return {
    may: may.map((decision) => verbs[decision]),
    why_not: whyNot?.why,
    message: whyNot?.message,
  };
}

function unknownApproval(id: string): Response {
  return problem("approval_unknown", noApproval(id));
}
