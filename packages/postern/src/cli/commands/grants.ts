import { actionText } from "@postern/core";
import { type GrantView, grants } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { flagsOf, ofTool } from "../flags.ts";
import { ago, type Columns, inState, noRows, riskCell } from "../output/print.ts";
import { actorText } from "../output/text.ts";

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
