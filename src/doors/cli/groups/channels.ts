import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function channelCommands(program: Command, host: Host, act: Act): void {
  const channels = program.command("channels").description("where people are told that they are wanted");
  const load = () => import("../commands/channels.ts");
  act(
    channels.command("list", { isDefault: true }).description("each with what waits and what was given up"),
    async (flags) => (await load()).listChannels(host, flags),
  );
  act(
    channels.command("test").description("send a notice that says it is only a test").argument("<name>"),
    async (flags, [name = ""]) => (await load()).testChannel(host, name, flags),
  );
  act(
    channels.command("retry").description("try anew what was given up").argument("<name>"),
    async (flags, [name = ""]) => (await load()).retryChannel(host, name, flags),
  );
}
