import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function alarmCommands(program: Command, host: Host, act: Act): void {
  const alarms = program.command("alarms").description("what somebody should look at");
  const load = () => import("../commands/alarms.ts");
  const list = alarms
    .command("list", { isDefault: true })
    .description("open ones and those somebody knows of")
    .option("--state <state>", "open, acked, resolved, all")
    .option("--limit <number>", "at most so many (default 200)");
  act(list, async (flags) => (await load()).listAlarms(host, flags));
  for (const [verb, description] of [
    ["ack", "you know of it"],
    ["resolve", "it is over; it is raised anew when its cause comes again"],
  ] as const) {
    const command = alarms
      .command(verb)
      .description(description)
      .argument("<id>")
      .option("--reason <text>", "recorded with it");
    act(command, async (flags, [id = ""]) => (await load()).changeAlarm(host, { verb, id }, flags));
  }
}
