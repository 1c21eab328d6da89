import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function chainCommands(program: Command, host: Host, act: Act): void {
  const chain = program.command("chain").description("scripts that call tools");
  const load = () => import("../commands/chain.ts");
  const run = chain
    .command("run")
    .description("run a script as the agent; the same file run again goes on where it waited for a person")
    .argument("<file>", "`-` reads standard input")
    .option("--language <name>", "python, javascript or typescript; by the file's name when left out, else by its text")
    .option("--timeout <seconds>", "how long it may take; waiting for a person does not count")
    .option("--key <key>", "idempotency key: the same key never runs twice")
    .option("--run <id>", "the run it belongs to")
    .option("--scopes <list>", "scopes to call with, separated by commas")
    .option("--autonomy <level>", "a lower level for this script only")
    .option("--wait [seconds]", "wait for a person's decision instead of leaving it pending");
  act(run, async (flags, [file = ""]) => (await load()).runChain(host, file, flags));
  const list = chain
    .command("list", { isDefault: true })
    .description("scripts that run, wait for a person or were cut short, and the engines there are")
    .option("--run <id>", "of this run")
    .option("--limit <number>", "at most so many (default 100)");
  act(list, async (flags) => (await load()).listChains(host, flags));
  act(
    chain
      .command("resume")
      .argument("<id>")
      .description("let a script go on that waits or was cut short, by its call id"),
    async (flags, [id = ""]) => (await load()).resumeChain(host, id, flags),
  );
}
