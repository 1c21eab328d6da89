import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { DecisionVerb } from "../commands/approvals.ts";
import type { Host } from "../host.ts";

export function approvalCommands(program: Command, host: Host, act: Act): void {
  const approvals = program.command("approvals").description("what waits for a person");
  const list = approvals
    .command("list", { isDefault: true })
    .option("--state <state>", "pending (default), approved, denied, skipped, expired, withdrawn, used, all")
    .option("--limit <number>");
  act(list, async (flags) => (await import("../commands/approvals.ts")).listApprovals(host, flags));
  act(approvals.command("show").argument("<id>"), async (flags, [id = ""]) =>
    (await import("../commands/approvals.ts")).showApproval(host, id, flags),
  );
  const verbs: Readonly<Record<DecisionVerb, string>> = {
    approve: "let it run, once, exactly as shown",
    deny: "it does not run",
    skip: "it does not run, and the agent goes on without it",
    modify: "let it run, once, with other arguments; they pass the gates too",
  };
  for (const [verb, description] of Object.entries(verbs) as [DecisionVerb, string][]) {
    // its own keys
    const command = approvals
      .command(verb)
      .description(description)
      .argument("<id>")
      .option("--reason <text>", "recorded, and told to the agent");
    if (verb === "modify") command.requiredOption("--arguments <json>", "what shall run instead");
    act(command, async (flags, [id = ""]) => (await import("../commands/approvals.ts")).decide(host, verb, id, flags));
  }
}
