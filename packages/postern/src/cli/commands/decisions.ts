import { decidedWords, decisionsText, decisionText, RuntimeFault } from "@postern/core";
import {
  type ApprovalView,
  approvals,
  type BatchAnswer,
  type DecisionVerb,
  type Input,
  type remember,
} from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type FieldFlags, flagsOf, later } from "../flags.ts";
import { approvalCard } from "../output/card.ts";
import { allPages, type CommandInput, printAnswer, type Work } from "../output/print.ts";
import { minuteOf, visible } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { objectOf } from "./arguments.ts";

const digest = { name: "digest", value: "sha256" } as const;
const approveNotes = {
  expected_digest: digest,
  confirmation: { name: "confirm", value: "tool" },
  remember: "none",
} as const;

/** One verb: its flags beside the ids, and the route that decides with it. */
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

export function decisionCommands(group: CommandGroup): void {
  const denyFlags = flagsOf(approvals.deny.body, { expected_digest: digest });
  for (const [verb, help, flags] of [
    [
      "approve",
      "let it run, once, exactly as shown; several of one run and tool at once",
      flagsOf(approvals.approve.body, approveNotes),
    ],
    ["deny", "it does not run", denyFlags],
    ["skip", "it does not run, and the agent goes on without it", denyFlags],
  ] as const)
    add(group, { verb, help, flags, send: ({ operator }, sent) => operator.approvals[verb](sent) });
  add(group, {
    verb: "modify",
    help: "let it run, once, with other arguments; they pass the gates too",
    flags: flagsOf(approvals.modify.body, { ...approveNotes, arguments: { help: "what shall run instead" } }),
    send: ({ operator }, sent) => operator.approvals.modify(sent),
  });
  group.answer("comment <id> <text>", "write to the agent without deciding; it reads that before the decision", {
    ask: async (work, { id, text }) => work.operator.approvals.comment({ id: await wholeApprovalId(work, id), text }),
    text: (approval, work) => `${approvalCard(approval, work.now(), work)}${commentedText}\n`,
  });
  for (const [verb, help] of [
    ["withdraw", "take a request back before it is used"],
    ["revoke", "take an approval back before it is used"],
  ] as const)
    group.answer(`${verb} <id>`, help, {
      flags: flagsOf(approvals[verb].body, {}),
      ask: async (work, { id, reason }) =>
        work.operator.approvals[verb]({ id: await wholeApprovalId(work, id), reason }),
      text: (approval, work) => `${approvalCard(approval, work.now(), work)}${visible(decisionText(verb, approval))}\n`,
    });
}

const commentedText = "Written. The agent reads it with the next answer that says that its call waits.";

const remembers = {
  "--remember <span>": "such calls ask no person: `run`, `session`, a time, or a span: `2h`, `7d`",
  "--where <json>": 'which of them: conditions by path, `{"$.to": {"like": "*@example.com"}}`',
} as const;

function add<Body extends Reasoned>(group: CommandGroup, { verb, help, flags, send }: DecisionRoute<Body>): void {
  const options: Partial<typeof remembers> = verb === "approve" || verb === "modify" ? remembers : {};
  group.run(`${verb} <id...>`, help, {
    words: { "<id...>": "of several, `ID=DIGEST` where each is to be as it was seen" },
    flags,
    options,
    run: async ({ sent: { id: ids, ...fields }, options: typed, ...input }) => {
      const [first = "", ...others] = ids;
      const body = { ...(fields as unknown as Body), ...remembered({ ...typed, now: group.now() }, fields) }; // the flags of this verb
      if (others.length > 0) return decideMany(input, { verb, ids, body });
      return printAnswer(
        { ...input, sent: body },
        {
          needs: { tools: true },
          ask: async (work, sent) => send(work, { ...sent, id: await wholeApprovalId(work, first) }),
          text: (approval, work) => decidedText(verb, approval, work),
        },
      );
    },
  });
}

function decidedText(verb: DecisionVerb, approval: ApprovalView, work: Work): string {
  const { grant, status } = approval;
  const whenItRuns = status === "approved" ? " It runs when the agent sends it again or is still waiting." : "";
  const kept = grant === undefined ? "" : `Remembered as ${grant.grant_id}, until ${minuteOf(grant.until)}.\n`;
  return `${approvalCard(approval, work.now(), work)}${visible(decisionText(verb, approval))}${whenItRuns}\n${kept}`;
}

/** Similar requests of one run. Each is decided alone; exit code 1 if one is not. */
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
  return printAnswer(
    { ...typed, sent: ids },
    {
      needs: { tools: true },
      ask: async (work) => {
        const meant = await Promise.all(
          ids.map(async (word) => {
            const [begin = "", seen] = word.split("=", 2);
            return { id: await wholeApprovalId(work, begin), seen };
          }),
        );
        const digests = meant.flatMap(({ id, seen }) => (seen === undefined ? [] : [[id, seen] as const]));
        return work.operator.approvals.batch({
          ids: meant.map(({ id }) => id),
          decision: decidedWords[verb],
          reason,
          expected_digests: digests.length === 0 ? undefined : Object.fromEntries(digests),
        });
      },
      text: ({ answers }, work) =>
        `${answers.map((one) => answerLine(work, one)).join("")}${decisionsText(verb, answers)}\n`,
      code: ({ answers }) => (answers.every(({ decided }) => decided) ? exitCodes.ok : exitCodes.failed),
    },
  );
}

function answerLine({ paint, command }: Work, { approval_id: id, decided, approval, error }: BatchAnswer): string {
  const result = approval?.status === "pending" ? "counted" : (approval?.status ?? "");
  const text = decided ? result : paint("red", visible(asTypedHere(error?.message ?? "", command)));
  return `${visible(id)}  ${text}\n`;
}

/** Which later calls the decision answers too. */
function remembered(
  { remember, where, now }: { readonly remember?: string; readonly where?: string; readonly now: number },
  { reason }: Reasoned,
): RememberField {
  if (remember === undefined && where !== undefined)
    throw new UsageProblem("`--where` says which calls are remembered; give `--remember` as well.");
  if (remember === undefined) return {};
  if (reason === undefined) throw new UsageProblem("A remembered approval needs a reason: add `--reason TEXT`.");
  return {
    remember: {
      for: remember === "run" || remember === "session" ? remember : { until: later(remember, "--remember", now) },
      reason,
      ...(where !== undefined && { scope: { arguments: objectOf(where, "--where") } }),
    },
  };
}

/**
 * The beginning of an id is enough if it is the beginning of one only. Open requests are searched first. A text that is
 * no beginning of an id is returned as it is, and the server refuses it.
 *
 * @throws RuntimeFault `request_invalid`
 */
export async function wholeApprovalId({ operator }: Pick<Work, "operator">, typed: string): Promise<string> {
  if (/^apr_[0-9a-f-]{36}/.test(typed) || !/^apr_[0-9a-f-]{8,}$/.test(typed)) return typed;
  const beginningSo = async (where: { readonly state?: "pending" }): Promise<readonly string[]> => {
    const all = { ...where, limit: Number.POSITIVE_INFINITY };
    const { approvals: found } = await allPages(all, "approvals", (page) => operator.approvals.list(page));
    return found.map(({ approval_id }) => approval_id).filter((id) => id.startsWith(typed));
  };
  const waiting = await beginningSo({ state: "pending" });
  const [id = typed, other] = waiting.length > 0 ? waiting : await beginningSo({});
  if (other === undefined) return id;
  throw new RuntimeFault(
    "request_invalid",
    `\`${visible(typed)}\` is how \`${id}\` and \`${other}\` begin; type more of the one you mean.`,
  );
}
