import { type DelegationView, delegations, type GrantView, grants } from "../../server/contract/grants.ts";
import type { CommandGroup } from "../command.ts";
import { flagsOf, later, ofTool } from "../flags.ts";
import { actionText } from "../output/decision-text.ts";
import { ago, type Columns, inState, noRows, printAnswer, printList, riskCell } from "../output/print.ts";
import { actorText, minuteOf } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";

export function grantCommands(group: CommandGroup): void {
  group.list("list", "what is remembered, by whom, and how often it was used", {
    isDefault: true,
    flags: flagsOf(grants.list.query, { state: { default: "live", all: true }, tool: ofTool }),
    needs: { tools: true },
    rows: "grants",
    ask: ({ operator }, { state, tool }) => operator.grants.list({ ...inState(state), tool }),
    columns: grantColumns,
    empty: ({ state }) => noRows("grants", state),
  });
  group.answer("revoke <id>", "people are asked about such calls again", {
    flags: flagsOf(grants.revoke.body, {}),
    ask: ({ operator }, sent) => operator.grants.revoke(sent),
    text: ({ grant_id }) => `Revoked ${grant_id}. People are asked about such calls again.\n`,
  });
}

const grantColumns: Columns<GrantView> = {
  GRANT: ({ grant_id }) => grant_id,
  TOOL: ({ scope }) => actionText(scope),
  "UP TO": ({ risk_level }, work) => riskCell(risk_level, work),
  FOR: ({ granted_to }) => granted_to.agent,
  ENDS: ({ silent, status, until }, work) =>
    silent !== undefined ? "does not count" : status === "live" ? ago(until, work) : status,
  USES: ({ uses }) => String(uses),
  BY: ({ by, via }) => actorText(by, via),
  ARGUMENTS: ({ scope }) => (scope.arguments === undefined ? "any" : JSON.stringify(scope.arguments)),
  REASON: ({ reason }) => reason,
};

export function delegationCommand(group: CommandGroup): void {
  const flags = flagsOf(delegations.create.body.partial(), {
    to: "none",
    until: { help: "a time, or a span: `2h`, `7d`", read: (text, flag) => later(text, flag, group.now()) },
  });
  group.run("delegate [user]", "let another person decide in your place", {
    flags,
    options: { "--list": "who decides in whose place", "--end <id>": "end a delegation" },
    run: async ({ sent: { user: to = "", until, reason }, options: { list, end: id }, ...typed }) => {
      if (id !== undefined)
        return printAnswer(
          { ...typed, sent: { id } },
          {
            ask: ({ operator }, ended) => operator.delegations.revoke(ended),
            text: (ended) => `${ended.to} does not decide in the place of ${ended.from} any more.\n`,
          },
        );
      if (list === true)
        return printList(
          { ...typed, sent: {} },
          {
            rows: "delegations",
            ask: ({ operator }) => operator.delegations.list(),
            columns: delegationColumns,
            empty: "No person decides in another's place.",
          },
        );
      if (to === "" || until === undefined)
        throw new UsageProblem("Say who decides in your place, and until when: `approvals delegate USER --until 7d`.");
      return printAnswer(
        { ...typed, sent: { to, until, reason } },
        {
          ask: ({ operator }, made) => operator.delegations.create(made),
          text: (made) =>
            `${made.to} decides in the place of ${made.from} until ${minuteOf(made.until)} (${made.delegation_id}).\n`,
        },
      );
    },
  });
}

const delegationColumns: Columns<DelegationView> = {
  DELEGATION: ({ delegation_id }) => delegation_id,
  FROM: ({ from }) => from,
  TO: ({ to }) => to,
  UNTIL: ({ status, until }) => (status === "live" ? minuteOf(until) : status),
  REASON: ({ reason }) => reason,
};
