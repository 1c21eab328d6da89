import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function initCommand(program: Command, host: Host, act: Act): void {
  const init = program
    .command("init")
    .description("write a first configuration and a tool; overwrites nothing")
    .argument("[folder]", "where (default: here)");
  act(init, async (flags, [folder]) => (await import("../commands/init.ts")).init(host, folder, flags));
}
