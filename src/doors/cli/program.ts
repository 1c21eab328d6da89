import { Command, CommanderError, Option } from "commander";
import type { DecisionVerb } from "./commands/approvals.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { GlobalFlags, Host } from "./host.ts";

/** Commands, their flags and their help. What they do stands in commands/, one file each. */
export interface Program {
  /** @param words what was typed after `postern` */
  run(words: readonly string[]): Promise<ExitCode>;
}

export function createProgram(host: Host, version: string): Program {
  return {
    async run(words) {
      const ended: { code: ExitCode } = { code: exitCodes.ok };
      const program = commands(host, version, ended);
      try {
        await program.parseAsync([...words], { from: "user" });
        return ended.code;
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error;
        return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage; // help and version end well; its sentence was written
      }
    },
  };
}

function commands(host: Host, version: string, ended: { code: ExitCode }): Command {
  const program = new Command("postern")
    .description("The gate that every tool call of every agent passes.")
    .version(version)
    .option("-c, --config <file>", "configuration: postern.yaml, .json, or a .ts you trust")
    .option("-d, --data <folder>", "where books, keys and tokens are kept (default .postern)")
    .option("-p, --port <number>", "port of the running Postern, or to listen on (default 7420)")
    .option("--json", "the answer as JSON, in the form of the HTTP interface")
    .option("--verbose", "problems with everything that is known about them")
    .showSuggestionAfterError()
    .showHelpAfterError("(`postern --help` lists all commands)")
    .configureOutput({
      writeOut: (text) => host.terminal.out(text),
      writeErr: (text) => host.terminal.aside(text),
    })
    .exitOverride();
  // A command's flags stand after its name, and the common ones anywhere.
  const act = (command: Command, run: (flags: GlobalFlags, words: readonly string[]) => Promise<ExitCode>): void => {
    command.action(async () => {
      ended.code = await run(command.optsWithGlobals<GlobalFlags>(), command.args);
    });
  };
  startCommand(program, host, act);
  callCommands(program, host, act);
  approvalCommands(program, host, act);
  auditCommands(program, host, act);
  controlCommands(program, host, act);
  act(program.command("doctor").description("say what is wrong here, and the fix"), async (flags) =>
    (await import("./commands/doctor.ts")).doctor(host, flags),
  );
  program.addHelpText(
    "after",
    "\nExit codes: 0 ok, 1 failed, 2 usage, 3 denied, 4 waits for a person.\nWithout a terminal nothing prompts.",
  );
  return program;
}

type Act = (command: Command, run: (flags: GlobalFlags, words: readonly string[]) => Promise<ExitCode>) => void;

function startCommand(program: Command, host: Host, act: Act): void {
  const start = program
    .command("start")
    .description("serve MCP at /mcp and HTTP at /v1 on 127.0.0.1")
    .option("--stdio", "speak MCP over standard input and output; joins the running Postern if there is one")
    .option("--host <address>", "a loopback address to listen on")
    .option("--autonomy <level>", "A0 to A4: what agents may do unasked (default A2)")
    .option("--log-level <level>", "error, warn, info or debug");
  act(start, (flags) => host.start(flags));
}

function callCommands(program: Command, host: Host, act: Act): void {
  const call = program
    .command("call")
    .description("call a tool as the agent")
    .argument("<tool>")
    .argument("[arguments...]", "key=value; text stays text where the tool wants text, everything else is JSON")
    .option("--action <name>", "for tools with several actions")
    .option("--args <json>", "all arguments as one JSON object")
    .option("--key <key>", "idempotency key: the same key never runs twice")
    .option("--run <id>", "the run it belongs to")
    .option("--scopes <list>", "scopes to call with, separated by commas")
    .option("--autonomy <level>", "a lower level for this call only")
    .option("--wait [seconds]", "wait for a person's decision instead of leaving it pending");
  act(call, async (flags, [tool = "", ...words]) =>
    (await import("./commands/call.ts")).call(host, tool, words, flags),
  );
  act(
    program
      .command("tools")
      .description("what is offered, at which risk, and what a call would meet now")
      .argument("[name]"),
    async (flags, [name]) => {
      const { listTools, showTool } = await import("./commands/tools.ts");
      return name === undefined ? listTools(host, flags) : showTool(host, name, flags);
    },
  );
  const calls = program.command("calls").description("what was called, and how it ended");
  const list = calls
    .command("list", { isDefault: true })
    .description("new to old")
    .option("--state <state>", "held, attempted, ok, failed, denied, unknown, …")
    .option("--tool <name>")
    .option("--run <id>")
    .option("--limit <number>", "at most so many (default 50)");
  act(list, async (flags) => (await import("./commands/calls.ts")).listCalls(host, flags));
  act(calls.command("show").argument("<id>"), async (flags, [id = ""]) =>
    (await import("./commands/calls.ts")).showCall(host, id, flags),
  );
  const settle = calls
    .command("settle")
    .description("say what became of a call whose outcome is unknown")
    .argument("<id>")
    .argument("<outcome>", "succeeded, failed or retry")
    .option("--reason <text>", "how you know");
  act(settle, async (flags, [id = "", word = ""]) =>
    (await import("./commands/calls.ts")).settleCall(host, id, word, flags),
  );
}

function approvalCommands(program: Command, host: Host, act: Act): void {
  const approvals = program.command("approvals").description("what waits for a person");
  const list = approvals
    .command("list", { isDefault: true })
    .option("--state <state>", "pending (default), approved, denied, skipped, expired, withdrawn, used, all")
    .option("--limit <number>");
  act(list, async (flags) => (await import("./commands/approvals.ts")).listApprovals(host, flags));
  act(approvals.command("show").argument("<id>"), async (flags, [id = ""]) =>
    (await import("./commands/approvals.ts")).showApproval(host, id, flags),
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
    act(command, async (flags, [id = ""]) => (await import("./commands/approvals.ts")).decide(host, verb, id, flags));
  }
}

function auditCommands(program: Command, host: Host, act: Act): void {
  const audit = program.command("audit").description("the tamper-evident log");
  const show = audit
    .command("show", { isDefault: true })
    .option("--type <type>", "one type, or all that begin so: gate.")
    .option("--tool <name>")
    .option("--trace <id>")
    .addOption(new Option("--outcome <outcome>").choices(["success", "failure", "suppressed", "info"]))
    .option("--since <time>", "ISO time, date, or age: 15m, 2h, 7d")
    .option("--until <time>")
    .option("--after <seq>")
    .option("--limit <number>");
  act(show, async (flags) => (await import("./commands/audit.ts")).showAudit(host, flags));
  const verify = audit
    .command("verify")
    .description("check every event and every signature; exit code 1 when something was changed")
    .argument("[file]", "an exported log; checked without any Postern")
    .option("--against <note>", "a checkpoint kept elsewhere (its file): proves that nothing was cut off")
    .option("--public-key <file>", "the key to trust, instead of the one in the export");
  act(verify, async (flags, [file]) => (await import("./commands/audit.ts")).verifyAudit(host, file, flags));
  act(audit.command("export").description("the whole log as lines").argument("[file]"), async (flags, [file]) =>
    (await import("./commands/audit.ts")).exportAudit(host, file, flags),
  );
  act(audit.command("checkpoint").description("a signed note over everything until now"), async (flags) =>
    (await import("./commands/audit.ts")).checkpointAudit(host, flags),
  );
}

function controlCommands(program: Command, host: Host, act: Act): void {
  const controls = program.command("controls").description("the operator's switches: durable, and audited");
  const load = () => import("./commands/controls.ts");
  const reason = (command: Command): Command => command.option("--reason <text>", "recorded with the change");
  act(controls.command("show", { isDefault: true }), async (flags) => (await load()).showControls(host, flags));
  for (const verb of ["pause", "resume"] as const) {
    act(reason(controls.command(verb).description(`${verb} all calls`)), async (flags) =>
      (await load()).switchAll(host, verb, flags),
    );
  }
  act(reason(controls.command("autonomy").argument("<level>", "A0 to A4")), async (flags, [level = ""]) =>
    (await load()).setAutonomy(host, level, flags),
  );
  act(reason(controls.command("tool").argument("<name>").argument("<on|off>")), async (flags, [name = "", to = ""]) =>
    (await load()).switchOne(host, "tool", name, to, flags),
  );
  act(reason(controls.command("server").argument("<name>").argument("<on|off>")), async (flags, [name = "", to = ""]) =>
    (await load()).switchOne(host, "server", name, to, flags),
  );
  act(controls.command("history").description("who changed what, and when"), async (flags) =>
    (await load()).controlHistory(host, flags),
  );
}
