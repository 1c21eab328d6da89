import type { JsonObject } from "../../../calls/json.ts";
import type { Approval, BatchAnswer, approvals as contract, DecisionVerb } from "../../contract/approvals.ts";
import type { Sent } from "../../contract/route.ts";
import { decidedWords, saidOf, saidOfMany } from "../../said.ts";
import { wholeApprovalId } from "../approval-id.ts";
import { approvalCard } from "../card.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { minuteOf, visible } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { objectOf } from "./arguments.ts";
import { later } from "./typed.ts";

export interface DecideFlags extends GlobalFlags {
  readonly reason?: string;
  /** With `modify`. */
  readonly arguments?: string;
  readonly confirm?: string;
  readonly digest?: string;
  /** `run`, `session`, or a time: such calls need nobody as long. */
  readonly remember?: string;
  readonly where?: string;
}

const whenItRuns = " It runs when the agent sends it again or is still waiting.";

/** As the operator. An edit is gated again, and a detached tool runs at once, so the tools must be there. */
export async function decide(
  host: Host,
  { verb, ids }: { readonly verb: DecisionVerb; readonly ids: readonly string[] },
  flags: DecideFlags,
): Promise<ExitCode> {
  const [id = "", ...others] = ids;
  const body = bodyOf(flags, host.clock.now());
  const instead = verb === "modify" ? objectOf(flags.arguments ?? "", "--arguments") : {};
  if (others.length === 0) return decideOne(host, flags, { verb, id, body, instead });
  if (verb === "modify") throw new UsageProblem("`modify` is for one approval at a time.");
  if (flags.digest !== undefined || flags.remember !== undefined || flags.confirm !== undefined)
    throw new UsageProblem(
      "`--digest`, `--remember` and `--confirm` are for one approval at a time; of several, write `ID=DIGEST` for each.",
    );
  return decideMany(host, { verb, ids }, flags);
}

interface Deciding {
  readonly verb: DecisionVerb;
  readonly id: string;
  readonly body: Decision;
  /** The arguments of `modify`. */
  readonly instead: JsonObject;
}

async function decideOne(host: Host, flags: DecideFlags, { verb, id, body, instead }: Deciding): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const approval = await decided(work, { ...body, id: await wholeApprovalId(work, id) }, { verb, instead });
    if (work.json) printJson(work, approval);
    else {
      const { grant } = approval;
      const kept = grant === undefined ? "" : `Remembered as ${grant.grant_id}, until ${minuteOf(grant.until)}.\n`;
      work.terminal.out(
        `${approvalCard(approval, work.now(), work)}${visible(saidOf(verb, approval))}${approval.status === "approved" ? whenItRuns : ""}\n${kept}`,
      );
    }
    return exitCodes.ok;
  });
}

/** Alike requests of one run. One that is not decided makes the whole a failure; the others stand. */
async function decideMany(
  host: Host,
  { verb, ids }: { readonly verb: keyof typeof decidedWords; readonly ids: readonly string[] },
  { reason, ...flags }: DecideFlags,
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const meant = await Promise.all(ids.map((one) => seenAs(work, one)));
    const digests = meant.flatMap(({ id, digest }) => (digest === undefined ? [] : [[id, digest] as const]));
    const expected = digests.length === 0 ? undefined : Object.fromEntries(digests);
    const body = { ids: meant.map(({ id }) => id), decision: decidedWords[verb], reason, expected_digests: expected };
    const { answers } = await work.operator.api.approvals.batch(body);
    if (work.json) printJson(work, { answers });
    else work.terminal.out(`${answers.map((one) => answerLine(work, one)).join("")}${saidOfMany(verb, answers)}\n`);
    return answers.every(({ decided }) => decided) ? exitCodes.ok : exitCodes.failed;
  });
}

/** `ID`, or `ID=DIGEST` of what was seen. */
async function seenAs(work: Work, typed: string): Promise<{ readonly id: string; readonly digest?: string }> {
  const [begin = "", digest] = typed.split("=", 2);
  return { id: await wholeApprovalId(work, begin), ...(digest !== undefined && { digest }) };
}

function answerLine({ paint, command }: Work, { approval_id: id, decided, approval, error }: BatchAnswer): string {
  const said = decided
    ? approval?.status === "pending"
      ? "counted"
      : (approval?.status ?? "")
    : asTypedHere(error?.message ?? "", command);
  return `${visible(id)}  ${decided ? said : paint("red", visible(said))}\n`;
}

export async function takeBack(
  host: Host,
  { verb, id }: { readonly verb: "withdraw" | "revoke"; readonly id: string },
  flags: DecideFlags,
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const approval = await work.operator.api.approvals[verb]({
      id: await wholeApprovalId(work, id),
      reason: flags.reason,
    });
    if (work.json) printJson(work, approval);
    else {
      work.terminal.out(`${approvalCard(approval, work.now(), work)}${visible(saidOf(verb, approval))}\n`);
    }
    return exitCodes.ok;
  });
}

type Decision = Omit<Sent<typeof contract.approve>, "id">;

function bodyOf(flags: DecideFlags, now: number): Decision {
  const { reason, confirm: confirmation, digest: expected_digest } = flags;
  return { reason, expected_digest, confirmation, remember: rememberOf(flags, now) };
}

function decided(
  { operator }: Work,
  sent: Sent<typeof contract.approve>,
  { verb, instead }: Pick<Deciding, "verb" | "instead">,
): Promise<Approval> {
  const { approvals } = operator.api;
  const { confirmation: _confirmation, remember: _remember, ...no } = sent;
  switch (verb) {
    case "approve":
      return approvals.approve(sent);
    case "modify":
      return approvals.modify({ ...sent, arguments: instead });
    case "deny":
      return approvals.deny(no);
    case "skip":
      return approvals.skip(no);
  }
}

function rememberOf({ remember, where, reason }: DecideFlags, now: number): Decision["remember"] {
  if (remember === undefined && where !== undefined)
    throw new UsageProblem("`--where` says which calls are remembered; give `--remember` as well.");
  if (remember === undefined) return undefined;
  if (reason === undefined) throw new UsageProblem("A yes that is remembered needs a reason: add `--reason TEXT`.");
  const span = remember === "run" || remember === "session" ? remember : { until: later(remember, "--remember", now) };
  return {
    for: span,
    reason,
    ...(where !== undefined && { scope: { arguments: objectOf(where, "--where") } }),
  };
}
