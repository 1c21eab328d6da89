import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function toolCommands(program: Command, host: Host, act: Act): void {
  const tools = program
    .command("tools")
    .description("what is offered, at which risk, and what a call would meet now; servers' tools that changed");
  const list = tools
    .command("list", { isDefault: true })
    .description("all of them; with a name one of them, with its schema")
    .argument("[name]");
  act(list, async (flags, [name]) => {
    const { listTools, showTool } = await import("../commands/tools.ts");
    return name === undefined ? listTools(host, flags) : showTool(host, name, flags);
  });
  act(
    tools
      .command("diff")
      .description("how the definition of a server's tool differs from the one that is trusted")
      .argument("<name>"),
    async (flags, [name = ""]) => (await import("../commands/pins.ts")).diffTool(host, name, flags),
  );
  const approve = tools
    .command("approve")
    .description("trust the definition as it is now; the tool can be called again")
    .argument("[name]")
    .option("--definition <digest>", "what you looked at, as `tools diff` shows it: refused when it is another by now")
    .option("--all <server>", "every blocked tool of this server")
    .option("--reason <text>", "recorded with it");
  act(approve, async (flags, [name]) => (await import("../commands/pins.ts")).approveTools(host, name, flags));
}
