import { Command, CommanderError } from "commander";
import { nearest } from "../core/nearest.ts";
import type { Act } from "./act.ts";
import { commandName } from "./command-name.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { agentCommands } from "./groups/agent.ts";
import { artifactCommands } from "./groups/artifacts.ts";
import { auditCommands } from "./groups/audit.ts";
import { callCommands } from "./groups/call.ts";
import { chainCommands } from "./groups/chain.ts";
import { controlCommands } from "./groups/controls.ts";
import { doctorCommand } from "./groups/doctor.ts";
import { initCommand } from "./groups/init.ts";
import { memoryCommands } from "./groups/memory.ts";
import { policyCommands } from "./groups/policy.ts";
import { runCommands } from "./groups/runs.ts";
import { secretCommands } from "./groups/secrets.ts";
import { skillCommands } from "./groups/skills.ts";
import { startCommand } from "./groups/start.ts";
import { toolCommands } from "./groups/tools.ts";
import type { GlobalFlags, Host } from "./host.ts";
import { visible, visibleLines } from "./text.ts";
import { UsageProblem } from "./usage-problem.ts";

/** Commands, their flags and their help. What they do stands in commands/, one file each. */
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
        return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage; // help and version end well; its sentence was written
      }
    },
  };
}

/** What one command left behind. */
interface Ended {
  code: ExitCode;
  command: string;
}

async function commands(
  { host, version, words }: { readonly host: Host; readonly version: string; readonly words: readonly string[] },
  ended: Ended,
): Promise<Command> {
  const program = withoutCommands(host, version);
  // A command's flags stand after its name, and the common ones anywhere.
  const act: Act = (command, run) => {
    command.action(async () => {
      const flags = command.optsWithGlobals<GlobalFlags>();
      ended.command = commandName(flags);
      ended.code = await run(flags, command.args);
    });
  };
  for (const group of groups) {
    if (typeof group === "function") group(program, host, act);
    else {
      const command = program.command(group.name).description(group.description);
      if (words.includes(group.name)) (await group.load())(command, host, act);
    }
  }
  nameUnknown(program);
  return program;
}

type AddCommands = (group: Command, host: Host, act: Act) => void;

/** A group whose file, and with it the contract, is loaded only for a command line that names it. */
interface Group {
  readonly name: string;
  readonly description: string;
  readonly load: () => Promise<AddCommands>;
}

const approvals: Group = {
  name: "approvals",
  description: "what waits for a person",
  load: async () => (await import("./commands/approvals.ts")).approvalCommands,
};
const accounts: Group = {
  name: "accounts",
  description: "the people who sign in to the console, and their roles",
  load: async () => (await import("./commands/accounts.ts")).accountCommands,
};
const tokens: Group = {
  name: "tokens",
  description: "tokens for programs: scoped, expiring, revocable at once",
  load: async () => (await import("./commands/tokens.ts")).tokenCommands,
};
const alarms: Group = {
  name: "alarms",
  description: "what somebody should look at",
  load: async () => (await import("./commands/alarms.ts")).alarmCommands,
};
const channels: Group = {
  name: "channels",
  description: "where people are told that they are wanted",
  load: async () => (await import("./commands/channels.ts")).channelCommands,
};

/** In the order of their help. */
const groups: readonly (AddCommands | Group)[] = [
  ...[
    initCommand,
    startCommand,
    callCommands,
    artifactCommands,
    chainCommands,
    agentCommands,
    toolCommands,
    approvals,
    auditCommands,
  ],
  ...[controlCommands, runCommands, policyCommands, skillCommands, memoryCommands, secretCommands],
  ...[accounts, tokens, alarms, channels, doctorCommand],
];

function withoutCommands(host: Host, version: string): Command {
  return new Command("postern")
    .description("The gate that every tool call of every agent passes.")
    .version(version)
    .option("-c, --config <file>", "configuration: postern.yaml, .json, or a .ts you trust")
    .option("-d, --data <folder>", "where books, keys and tokens are kept (default .postern)")
    .option("-p, --port <number>", "port of the running Postern, or to listen on (default 7420)")
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
      "\nExit codes: 0 ok, 1 failed, 2 usage, 3 denied, 4 waits for a person.\nWithout a terminal nothing prompts.",
    );
}

/** A word in a command's place that is none: without this the group's own default takes it as one argument too many. */
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
