import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function doctorCommand(program: Command, host: Host, act: Act): void {
  act(program.command("doctor").description("say what is wrong here, and the fix"), async (flags) =>
    (await import("../commands/doctor.ts")).doctor(host, flags),
  );
}
