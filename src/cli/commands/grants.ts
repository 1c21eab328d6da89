import type { Command } from "commander";
import { type DelegationView, delegations, type GrantView, grants } from "../../server/contract/grants.ts";
import type { Act } from "../act.ts";
import { flagsOf } from "../flags.ts";
import type { Host } from "../host.ts";
import { ago, type Columns, inState, noRows, printAnswer, printList, riskCell } from "../print.ts";
import { actionText } from "../said.ts";
import { actorText, minuteOf } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { later } from "./typed.ts";

export function grantCommands(approvals: Command, host: Host, act: Act): void {
  const group = approvals.command("grants").description("remembered yeses: such calls need nobody");
  const filters = flagsOf(grants.list.query, {
    state: { default: "live", all: true },
    tool: { value: "name" },
  });
  const list = group
    .command("list", { isDefault: true })
    .description("what is remembered, by whom, and how often it was used");
  act(filters.addTo(list), (flags) => {
    const { state, tool } = filters.read(flags);
    return printList(
      { host, flags, needs: { tools: true } },
      {
        rows: "grants",
        ask: ({ operator }) => operator.grants.list({ ...inState(state), tool }),
        columns: grantColumns,
        empty: noRows("grants", state),
      },
    );
  });
  const reasons = flagsOf(grants.revoke.body, {});
  const revoke = group.command("revoke").description("people are asked about such calls again").argument("<id>");
  act(reasons.addTo(revoke), (flags, [id = ""]) => {
    const reason = reasons.read(flags);
    return printAnswer(
      { host, flags },
      {
        ask: ({ operator }) => operator.grants.revoke({ id, ...reason }),
        text: ({ grant_id }) => `Revoked ${grant_id}. People are asked about such calls again.\n`,
      },
    );
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

export function delegationCommands(approvals: Command, host: Host, act: Act): void {
  const asked = flagsOf(delegations.create.body.partial(), {
    to: "none",
    until: { help: "a time, or for so long: `2h`, `7d`", read: (text, flag) => later(text, flag, host.clock.now()) },
  });
  const delegate = asked
    .addTo(
      approvals
        .command("delegate")
        .description("let somebody else decide in your place; `--list` shows who does, `--end ID` ends it")
        .argument("[user]"),
    )
    .option("--list", "who decides in whose place")
    .option("--end <id>", "end a delegation");
  act(delegate, async (flags, [to = ""]) => {
    const { list, end: id } = flags as { readonly list?: boolean; readonly end?: string }; // the options above
    if (id !== undefined)
      return printAnswer(
        { host, flags },
        {
          ask: ({ operator }) => operator.delegations.revoke({ id }),
          text: (ended) => `${ended.to} does not decide in the place of ${ended.from} any more.\n`,
        },
      );
    if (list === true)
      return printList(
        { host, flags },
        {
          rows: "delegations",
          ask: ({ operator }) => operator.delegations.list(),
          columns: delegationColumns,
          empty: "Nobody decides in anybody's place.",
        },
      );
    const { until, reason } = asked.read(flags);
    if (to === "" || until === undefined)
      throw new UsageProblem("Say who decides in your place, and until when: `approvals delegate USER --until 7d`.");
    return printAnswer(
      { host, flags },
      {
        ask: ({ operator }) => operator.delegations.create({ to, until, reason }),
        text: (made) =>
          `${made.to} decides in the place of ${made.from} until ${minuteOf(made.until)} (${made.delegation_id}).\n`,
      },
    );
  });
}

const delegationColumns: Columns<DelegationView> = {
  DELEGATION: ({ delegation_id }) => delegation_id,
  FROM: ({ from }) => from,
  TO: ({ to }) => to,
  UNTIL: ({ status, until }) => (status === "live" ? minuteOf(until) : status),
  REASON: ({ reason = "" }) => reason,
};
