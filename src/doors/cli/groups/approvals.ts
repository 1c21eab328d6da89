import type { Command } from "commander";
import type { DecisionVerb } from "../../contract/approvals.ts";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function approvalCommands(program: Command, host: Host, act: Act): void {
  const approvals = program.command("approvals").description("what waits for a person");
  const list = approvals
    .command("list", { isDefault: true })
    .description("what waits, the most urgent at the top: what ends first, in the same minute the riskiest")
    .option("--state <state>", "pending (default), approved, denied, skipped, expired, withdrawn, used, all")
    .option("--risk <level>", "safe, medium, high or critical")
    .option("--tool <name>", "only for this tool")
    .option("--run <id>", "only of this run")
    .option("--mine", "only what you may decide")
    .option("--limit <number>", "so many at most (default 100)");
  act(list, async (flags) => (await import("../commands/approvals.ts")).listApprovals(host, flags));
  const show = approvals
    .command("show")
    .description("one request: what would run, why you are asked, how long there is")
    .argument("<id>");
  act(show, async (flags, [id = ""]) => (await import("../commands/approvals.ts")).showApproval(host, id, flags));
  act(
    approvals.command("watch").description("what waits, live; decide with j k a d where you sit at a terminal"),
    async (flags) => (await import("../commands/watch.ts")).watchApprovals(host, flags),
  );
  decisionCommands(approvals, host, act);
  takeBackCommands(approvals, host, act);
  grantCommands(approvals, host, act);
  delegationCommands(approvals, host, act);
}

function decisionCommands(approvals: Command, host: Host, act: Act): void {
  const verbs: Readonly<Record<DecisionVerb, string>> = {
    approve: "let it run, once, exactly as shown; several of one run and tool at once",
    deny: "it does not run",
    skip: "it does not run, and the agent goes on without it",
    modify: "let it run, once, with other arguments; they pass the gates too",
  };
  for (const [verb, description] of Object.entries(verbs) as [DecisionVerb, string][]) {
    // its own keys
    const command = approvals
      .command(verb)
      .description(description)
      .argument("<id...>", "of several, `ID=DIGEST` where each is to be as it was seen")
      .option("--reason <text>", "recorded, and told to the agent")
      .option(
        "--digest <sha256>",
        "of what you saw (`shown_digest` of `approvals show --json`): nothing is decided when it changed",
      );
    if (verb === "modify") command.requiredOption("--arguments <json>", "what shall run instead");
    if (verb === "approve" || verb === "modify")
      command
        .option("--confirm <tool>", "the tool's name, typed: for what is critical")
        .option("--remember <span>", "such calls need nobody: `run`, `session`, a time, or for so long: `2h`, `7d`")
        .option("--where <json>", 'which of them: conditions by path, `{"$.to": {"like": "*@example.com"}}`');
    act(command, async (flags, ids) => (await import("../commands/decisions.ts")).decide(host, { verb, ids }, flags));
  }
}

function takeBackCommands(approvals: Command, host: Host, act: Act): void {
  const back = {
    withdraw: "take a request back before anybody uses it",
    revoke: "take an approval back before it is used",
  };
  for (const [verb, description] of Object.entries(back) as ["withdraw" | "revoke", string][]) {
    // its own keys
    const command = approvals
      .command(verb)
      .description(description)
      .argument("<id>")
      .option("--reason <text>", "recorded with it");
    act(command, async (flags, [id = ""]) =>
      (await import("../commands/decisions.ts")).takeBack(host, { verb, id }, flags),
    );
  }
}

function grantCommands(approvals: Command, host: Host, act: Act): void {
  const load = () => import("../commands/grants.ts");
  const grants = approvals.command("grants").description("remembered yeses: such calls need nobody");
  const list = grants
    .command("list", { isDefault: true })
    .description("what is remembered, by whom, and how often it was used")
    .option("--state <state>", "live (default), over, revoked, void (the tool is not what it was), all");
  act(list, async (flags) => (await load()).listGrants(host, flags));
  const revoke = grants
    .command("revoke")
    .description("people are asked about such calls again")
    .argument("<id>")
    .option("--reason <text>", "recorded with it");
  act(revoke, async (flags, [id = ""]) => (await load()).revokeGrant(host, id, flags));
}

function delegationCommands(approvals: Command, host: Host, act: Act): void {
  const load = () => import("../commands/grants.ts");
  const delegate = approvals
    .command("delegate")
    .description("let somebody else decide in your place; `--list` shows who does, `--end ID` ends it")
    .argument("[user]")
    .option("--until <time>", "a time, or for so long: `2h`, `7d`")
    .option("--reason <text>", "recorded with it")
    .option("--list", "who decides in whose place")
    .option("--end <id>", "end a delegation");
  act(delegate, async (flags, [user = ""]) => {
    const { list, end } = flags as { readonly list?: boolean; readonly end?: string }; // the options above
    const commands = await load();
    if (end !== undefined) return commands.endDelegation(host, end, flags);
    if (list === true) return commands.listDelegations(host, flags);
    return commands.delegate(host, user, flags);
  });
}
