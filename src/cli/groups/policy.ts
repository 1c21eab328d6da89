import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

const load = () => import("../commands/policy.ts");

export function policyCommands(program: Command, host: Host, act: Act): void {
  const policy = program
    .command("policy")
    .description("what is granted and why; what an edit would change; what nobody meant. Runs nothing");
  grantedCommands(policy, host, act);
  editCommands(policy, host, act);
}

/** What the policy in force says to somebody. */
function grantedCommands(policy: Command, host: Host, act: Act): void {
  const whose = (command: Command): Command =>
    command
      .option("--agent <name>", "for this agent (default local-agent)")
      .option("--user <name>", "on behalf of this user")
      .option("--run <id>", "in this run, with the skills that are active there")
      .option("--autonomy <level>", "at this level instead of the one in force");

  const show = whose(policy.command("show", { isDefault: true }))
    .description("what is so for each tool, and the rule that decides, with its line")
    .argument("[tool]", "only these; * stands for anything");
  act(show, async (flags, [tool]) => (await load()).showPolicy(host, tool, flags));

  const explain = whose(policy.command("explain"))
    .description("what would become of one call, and every rule that shaped it")
    .argument("[tool]")
    .argument("[arguments...]", "as for `postern call`")
    .option("--action <name>", "for tools with several actions")
    .option("--args <json>", "all arguments as one JSON object")
    .option("--scopes <list>", "granted scopes, separated by commas (default: all that it needs)")
    .option("--call <id>", "a recorded call instead, with the authority it had");
  act(explain, async (flags, [tool = "", ...words]) => (await load()).explainCall(host, { tool, words }, flags));
}

/** What the policy as it lies on the disk would change. */
function editCommands(policy: Command, host: Host, act: Act): void {
  const edited = (command: Command): Command =>
    command.option("--policy <file>", "another configuration than the one here; only its policy is looked at");

  const test = edited(policy.command("test"))
    .description("ask the policy as it lies on the disk its expectations; exit code 1 when one does not hold")
    .argument("[table...]", "files of expectations (default: `policy.tests` and *.policy-tests.yaml beside it)");
  act(test, async (flags, tables) => (await load()).testPolicy(host, tables, flags));

  const simulate = edited(policy.command("simulate"))
    .description("put recorded calls to the policy as it lies on the disk; tell whose verdict changes")
    .option("--last <number>", "so many calls (default 1000)")
    .option("--tool <name>", "only calls of this tool")
    .option("--run <id>", "only calls of this run");
  act(simulate, async (flags) => (await load()).simulatePolicy(host, flags));

  const warnings = edited(policy.command("warnings")).description(
    "rules that match nothing, never hold or contradict each other; exit code 1 when there are any",
  );
  act(warnings, async (flags) => (await load()).warnOfPolicy(host, flags));
}
