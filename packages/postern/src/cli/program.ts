import { nearest } from "@postern/core";
import { Command, CommanderError } from "commander";
import { type Act, CommandGroup } from "./command.ts";
import { commandName } from "./command-name.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { GlobalFlags, Host } from "./host.ts";
import { visible, visibleLines } from "./output/text.ts";
import { UsageProblem } from "./usage-problem.ts";

/** All commands. Each group has its file in commands/. */
export interface Program {
  /** @param words what was typed after `postern` */
  run(words: readonly string[]): Promise<ExitCode>;
  /** How the next command is typed: known once the words were read. */
  readonly command: string;
}

export function createProgram(host: Host, version: string): Program {
  const ended: Ended = { code: exitCodes.ok, command: "postern" };
  return {
    get command() {
      return ended.command;
    },
    async run(words) {
      try {
        const program = await commands({ host, version, words }, ended);
        await program.parseAsync([...words], { from: "user" });
        return ended.code;
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error;
        return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage; // for `--help` and `--version` it is 0; the message was written
      }
    },
  };
}

/** Commands that work on files of this machine. */
const onlyHere: ReadonlySet<string> = new Set(["init", "start", "secrets", "doctor"]);

/** @throws UsageProblem */
function refuseElsewhere(command: Command, { url }: GlobalFlags): void {
  let top = command;
  while (top.parent?.parent) top = top.parent;
  if (url === undefined || !onlyHere.has(top.name())) return;
  throw new UsageProblem(`\`${top.name()}\` works on this machine; run it where Postern is, without \`--url\`.`);
}

/** How a command ended. */
interface Ended {
  code: ExitCode;
  command: string;
}

async function commands(
  { host, version, words }: { readonly host: Host; readonly version: string; readonly words: readonly string[] },
  ended: Ended,
): Promise<Command> {
  const program = withoutCommands(host, version);
  // The flags of one command come after its name. The global flags may come anywhere.
  const act: Act = (command, run) => {
    command.action(async () => {
      const flags = program.opts<GlobalFlags>();
      refuseElsewhere(command, flags);
      ended.command = commandName(flags);
      ended.code = await run(flags, command.opts());
    });
  };
  for (const [name, description, load] of groups) {
    const command = program.command(name).description(description);
    if (words.includes(name)) (await load()).commands(new CommandGroup(command, host, act));
  }
  nameUnknown(program);
  return program;
}

/** In the order of their help. A group's file, and with it the contract, is loaded for a command line that names it. */
const groups: readonly (readonly [
  name: string,
  help: string,
  load: () => Promise<{ readonly commands: (group: CommandGroup) => void }>,
])[] = [
  ["init", "write a first configuration and a tool; overwrites nothing", () => import("./commands/init.ts")],
  [
    "connect",
    "write Postern into the file of a client; shows the change and asks",
    () => import("./commands/connect.ts"),
  ],
  [
    "disconnect",
    "take Postern out of the file of a client again",
    async () => ({ commands: (await import("./commands/connect.ts")).disconnectCommands }),
  ],
  [
    "start",
    "serve MCP at /mcp and HTTP at /v1; on 127.0.0.1 unless told otherwise",
    () => import("./commands/start.ts"),
  ],
  ["worker", "run tools for a gateway on another machine", () => import("./commands/worker.ts")],
  ["workers", "keys of workers, and what was refused between them and gateways", () => import("./commands/workers.ts")],
  ["call", "call a tool as the agent", () => import("./commands/call.ts")],
  ["calls", "what was called, and how it ended", () => import("./commands/calls.ts")],
  ["artifacts", "results that were too large to be shown whole", () => import("./commands/artifacts.ts")],
  ["chain", "scripts that call tools", () => import("./commands/chain.ts")],
  ["agent", "an agent that works with the tools here", () => import("./commands/agent.ts")],
  [
    "tools",
    "what is offered, at which risk, and what a call would meet now; servers' tools that changed",
    () => import("./commands/tools.ts"),
  ],
  ["servers", "upstream servers: their state, and connecting them again", () => import("./commands/servers.ts")],
  ["approvals", "what waits for a person", () => import("./commands/approvals.ts")],
  ["audit", "the tamper-evident log", () => import("./commands/audit.ts")],
  [
    "stats",
    "what mode observe let pass: calls that enforce would ask about or stop",
    () => import("./commands/stats.ts"),
  ],
  ["controls", "the operator's switches: durable, and audited", () => import("./commands/controls.ts")],
  ["runs", "what agents did, a folder a run", () => import("./commands/runs.ts")],
  [
    "policy",
    "what is granted and why; what an edit would change; rules that look wrong. Runs nothing",
    () => import("./commands/policy.ts"),
  ],
  ["skills", "instructions agents may load, and the tools these hold them to", () => import("./commands/skills.ts")],
  ["memory", "what agents may remember", () => import("./commands/memory.ts")],
  ["secrets", "values that tools borrow; sealed in the data folder", () => import("./commands/secrets.ts")],
  ["accounts", "the people who sign in to the console, and their roles", () => import("./commands/accounts.ts")],
  ["connections", "your sign-ins and keys at upstream servers", () => import("./commands/connections.ts")],
  ["tokens", "tokens for programs: scoped, expiring, revocable at once", () => import("./commands/tokens.ts")],
  ["alarms", "what a person should look at", () => import("./commands/alarms.ts")],
  ["channels", "where people are notified of requests", () => import("./commands/channels.ts")],
  ["store", "what the store takes; a copy of it in another store", () => import("./commands/store.ts")],
  ["backup", "one file with everything in the data folder, while Postern runs", () => import("./commands/backup.ts")],
  [
    "restore",
    "put a backup into an empty folder, or prove what is in it",
    async () => ({ commands: (await import("./commands/backup.ts")).restoreCommands }),
  ],
  ["doctor", "say what is wrong here, and the fix", () => import("./commands/doctor.ts")],
];

function withoutCommands(host: Host, version: string): Command {
  return new Command("postern")
    .description("The gate that every tool call of every agent passes.")
    .version(version)
    .option("-c, --config <file>", "configuration: postern.yaml, .json, or a .ts you trust")
    .option("-d, --data <folder>", "where the store, keys and tokens are (default .postern)")
    .option("-p, --port <number>", "port of the running Postern, or to listen on (default 7420)")
    .option("--url <address>", "a Postern on another host: https://HOST; its token is in POSTERN_TOKEN or a file")
    .option("--token-file <file>", "holds the token for --url")
    .option("--json", "the answer as JSON, in the form of the HTTP interface")
    .option("--verbose", "problems with everything that is known about them")
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .showHelpAfterError(`(\`${commandName({})} --help\` lists all commands)`)
    .configureOutput({
      writeOut: (text) => host.terminal.out(text),
      writeErr: (text) => host.terminal.aside(visibleLines(text).join("\n")),
    })
    .exitOverride()
    .addHelpText(
      "after",
      "\nExit codes: 0 ok, 1 failed, 2 usage, 3 denied, 4 waits for a person, 130 Ctrl-C.\nWithout a terminal nothing prompts.",
    );
}

/** Refuses an unknown command of a group. Without this the group's default command would take the word as an argument. */
function nameUnknown(group: Command): void {
  for (const command of group.commands) nameUnknown(command);
  if (group.commands.length === 0) return;
  group.hook("preSubcommand", (_, command) => {
    const [word] = group.args;
    const isNone = word !== undefined && word !== command.name() && !word.startsWith("-");
    if (isNone && command.registeredArguments.length === 0) throw new UsageProblem(noSuchCommand(group, word));
  });
}

function noSuchCommand(group: Command, word: string): string {
  const names = group.commands.map((command) => command.name());
  const meant = nearest(word, names);
  const guess = meant === undefined ? "" : ` Did you mean \`${meant}\`?`;
  return `\`${visible(word)}\` is no command of \`${group.name()}\`; there are ${names.join(", ")}.${guess}`;
}
