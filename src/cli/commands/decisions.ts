import type { Command } from "commander";
import { type ApprovalView, approvals, type BatchAnswer, type DecisionVerb } from "../../server/contract/approvals.ts";
import type { remember } from "../../server/contract/grants.ts";
import type { Input } from "../../server/contract/route.ts";
import type { Act } from "../act.ts";
import { wholeApprovalId } from "../approval-id.ts";
import { approvalCard } from "../card.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type FieldFlags, flagsOf } from "../flags.ts";
import type { Host } from "../host.ts";
import { type CommandInput, printAnswer } from "../print.ts";
import { decidedWords, saidOf, saidOfMany } from "../said.ts";
import type { Work } from "../session.ts";
import { minuteOf, visible } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { objectOf } from "./arguments.ts";
import { later } from "./typed.ts";

const digest = { name: "digest", value: "sha256" } as const;
const yesNotes = {
  expected_digest: digest,
  confirmation: { name: "confirm", value: "tool" },
  remember: "none",
} as const;
const noFlags = flagsOf(approvals.deny.body, { expected_digest: digest });
const yesFlags = flagsOf(approvals.approve.body, yesNotes);
const editFlags = flagsOf(approvals.modify.body, { ...yesNotes, arguments: { help: "what shall run instead" } });

/** One verb: what it takes beside the ids, and the route that decides with it. */
interface DecisionRoute<Body extends Reasoned> {
  readonly verb: DecisionVerb;
  readonly help: string;
  readonly flags: FieldFlags<Body>;
  readonly send: (work: Work, sent: Body & { readonly id: string } & RememberField) => Promise<ApprovalView>;
}

interface Reasoned {
  readonly reason?: string | undefined;
}

interface RememberField {
  readonly remember?: Input<typeof remember> | undefined;
}

export function decisionCommands(group: Command, host: Host, act: Act): void {
  const add = <Body extends Reasoned>({ verb, help, flags: named, send }: DecisionRoute<Body>): void => {
    const command = group
      .command(verb)
      .description(help)
      .argument("<id...>", "of several, `ID=DIGEST` where each is to be as it was seen");
    named.addTo(command);
    if (verb === "approve" || verb === "modify")
      command
        .option("--remember <span>", "such calls need nobody: `run`, `session`, a time, or for so long: `2h`, `7d`")
        .option("--where <json>", 'which of them: conditions by path, `{"$.to": {"like": "*@example.com"}}`');
    act(command, async (flags, [id = "", ...others]) => {
      const typed = { host, flags, needs: { tools: true } };
      const body = { ...named.read(flags), ...remembered(flags, host.clock.now()) };
      if (others.length > 0) return decideMany(typed, { verb, ids: [id, ...others], body });
      return printAnswer(typed, {
        ask: async (work) => send(work, { ...body, id: await wholeApprovalId(work, id) }),
        text: (approval, work) => decidedText(verb, approval, work),
      });
    });
  };
  add({
    verb: "approve",
    help: "let it run, once, exactly as shown; several of one run and tool at once",
    flags: yesFlags,
    send: ({ operator }, sent) => operator.approvals.approve(sent),
  });
  add({
    verb: "deny",
    help: "it does not run",
    flags: noFlags,
    send: ({ operator }, sent) => operator.approvals.deny(sent),
  });
  add({
    verb: "skip",
    help: "it does not run, and the agent goes on without it",
    flags: noFlags,
    send: ({ operator }, sent) => operator.approvals.skip(sent),
  });
  add({
    verb: "modify",
    help: "let it run, once, with other arguments; they pass the gates too",
    flags: editFlags,
    send: ({ operator }, sent) => operator.approvals.modify(sent),
  });
}

function decidedText(verb: DecisionVerb, approval: ApprovalView, work: Work): string {
  const { grant, status } = approval;
  const whenItRuns = status === "approved" ? " It runs when the agent sends it again or is still waiting." : "";
  const kept = grant === undefined ? "" : `Remembered as ${grant.grant_id}, until ${minuteOf(grant.until)}.\n`;
  return `${approvalCard(approval, work.now(), work)}${visible(saidOf(verb, approval))}${whenItRuns}\n${kept}`;
}

/** Alike requests of one run. One that is not decided makes the whole a failure; the others stand. */
function decideMany(
  typed: CommandInput,
  { verb, ids, body }: { readonly verb: DecisionVerb; readonly ids: readonly string[]; readonly body: Reasoned },
): Promise<ExitCode> {
  if (verb === "modify") throw new UsageProblem("`modify` is for one approval at a time.");
  const { reason, ...others } = body;
  if (Object.values(others).some((value) => value !== undefined))
    throw new UsageProblem(
      "`--digest`, `--remember` and `--confirm` are for one approval at a time; of several, write `ID=DIGEST` for each.",
    );
  return printAnswer(typed, {
    ask: async (work) => {
      const meant = await Promise.all(ids.map((one) => seenAs(work, one)));
      const digests = meant.flatMap(({ id, digest }) => (digest === undefined ? [] : [[id, digest] as const]));
      return work.operator.approvals.batch({
        ids: meant.map(({ id }) => id),
        decision: decidedWords[verb],
        reason,
        expected_digests: digests.length === 0 ? undefined : Object.fromEntries(digests),
      });
    },
    text: ({ answers }, work) =>
      `${answers.map((one) => answerLine(work, one)).join("")}${saidOfMany(verb, answers)}\n`,
    code: ({ answers }) => (answers.every(({ decided }) => decided) ? exitCodes.ok : exitCodes.failed),
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

export function takeBackCommands(group: Command, host: Host, act: Act): void {
  for (const [verb, description] of [
    ["withdraw", "take a request back before anybody uses it"],
    ["revoke", "take an approval back before it is used"],
  ] as const) {
    const reasons = flagsOf(approvals[verb].body, {});
    act(reasons.addTo(group.command(verb).description(description).argument("<id>")), (flags, [id = ""]) => {
      const reason = reasons.read(flags);
      return printAnswer(
        { host, flags },
        {
          ask: async (work) => work.operator.approvals[verb]({ id: await wholeApprovalId(work, id), ...reason }),
          text: (approval, work) => `${approvalCard(approval, work.now(), work)}${visible(saidOf(verb, approval))}\n`,
        },
      );
    });
  }
}

/** Which later calls the decision answers too. */
function remembered(flags: object, now: number): RememberField {
  const { remember, where, reason }: { readonly remember?: string; readonly where?: string; readonly reason?: string } =
    flags;
  if (remember === undefined && where !== undefined)
    throw new UsageProblem("`--where` says which calls are remembered; give `--remember` as well.");
  if (remember === undefined) return {};
  if (reason === undefined) throw new UsageProblem("A yes that is remembered needs a reason: add `--reason TEXT`.");
  return {
    remember: {
      for: remember === "run" || remember === "session" ? remember : { until: later(remember, "--remember", now) },
      reason,
      ...(where !== undefined && { scope: { arguments: objectOf(where, "--where") } }),
    },
  };
}
