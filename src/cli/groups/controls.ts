import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function controlCommands(program: Command, host: Host, act: Act): void {
  const controls = program.command("controls").description("the operator's switches: durable, and audited");
  const load = () => import("../commands/controls.ts");
  const reason = (command: Command): Command => command.option("--reason <text>", "recorded with the change");
  act(controls.command("show", { isDefault: true }).description("how they stand"), async (flags) =>
    (await load()).showControls(host, flags),
  );
  for (const verb of ["pause", "resume"] as const) {
    act(reason(controls.command(verb).description(`${verb} all calls`)), async (flags) =>
      (await load()).switchAll(host, verb, flags),
    );
  }
  act(
    reason(controls.command("autonomy").description("what agents may do unasked").argument("<level>", "A0 to A4")),
    async (flags, [level = ""]) => (await load()).setAutonomy(host, level, flags),
  );
  act(
    reason(controls.command("tool").description("one tool off, or on again").argument("<name>").argument("<on|off>")),
    async (flags, [name = "", to = ""]) => (await load()).switchOne(host, { what: "tool", name, to }, flags),
  );
  act(
    reason(
      controls
        .command("server")
        .description("every tool of a server off, or on again")
        .argument("<name>")
        .argument("<on|off>"),
    ),
    async (flags, [name = "", to = ""]) => (await load()).switchOne(host, { what: "server", name, to }, flags),
  );
  act(controls.command("history").description("who changed what, and when"), async (flags) =>
    (await load()).controlHistory(host, flags),
  );
}
