import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function callCommands(program: Command, host: Host, act: Act): void {
  const call = program
    .command("call")
    .description("call a tool as the agent")
    .argument("<tool>", "its name, as `postern tools` shows it")
    .argument("[arguments...]", "key=value; text stays text where the tool wants text, everything else is JSON")
    .option("--action <name>", "for tools with several actions")
    .option("--args <json>", "all arguments as one JSON object; `-` reads it from standard input")
    .option("--key <key>", "idempotency key: the same key never runs twice")
    .option("--reason <text>", "why you call: shown to whoever is asked, as the caller's own word")
    .option("--run <id>", "the run it belongs to")
    .option("--scopes <list>", "scopes to call with, separated by commas")
    .option("--autonomy <level>", "a lower level for this call only")
    .option("--wait [seconds]", "wait for a person's decision instead of leaving it pending")
    .option("--progress", "what the tool says of its progress, also without a terminal");
  act(call, async (flags, [tool = "", ...words]) =>
    (await import("../commands/call.ts")).call(host, { tool, words }, flags),
  );
  callBookCommands(program, host, act);
}

function callBookCommands(program: Command, host: Host, act: Act): void {
  const load = () => import("../commands/calls.ts");
  const calls = program.command("calls").description("what was called, and how it ended");
  const list = calls
    .command("list", { isDefault: true })
    .description("new to old")
    .option("--state <state>", "held, attempted, ok, failed, denied, unknown, …")
    .option("--tool <name>", "only of this tool")
    .option("--run <id>", "only of this run")
    .option("--limit <number>", "at most so many (default 50)");
  act(list, async (flags) => (await load()).listCalls(host, flags));
  act(
    calls.command("show").description("one call: what was asked, decided and done").argument("<id>"),
    async (flags, [id = ""]) => (await load()).showCall(host, id, flags),
  );
  const settle = calls
    .command("settle")
    .description("say what became of a call whose outcome is unknown")
    .argument("<id>")
    .argument("<outcome>", "succeeded, failed or retry")
    .option("--reason <text>", "how you know");
  act(settle, async (flags, [id = "", word = ""]) => (await load()).settleCall(host, { id, word }, flags));
}
