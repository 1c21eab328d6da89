import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function skillCommands(program: Command, host: Host, act: Act): void {
  const skills = program
    .command("skills")
    .description("instructions agents may load, and the tools these hold them to");
  const load = () => import("../commands/skills.ts");
  act(skills.command("list", { isDefault: true }).description("what was found"), async (flags) =>
    (await load()).listSkills(host, flags),
  );
  act(
    skills.command("show").description("one skill: what it is for, and what is odd about it").argument("<name>"),
    async (flags, [name = ""]) => (await load()).showSkill(host, name, flags),
  );
  const check = skills
    .command("check")
    .description("read every skill as it lies on the disk now; exit code 1 when one would not be loaded")
    .argument("[folder...]", "the configured ones when left out");
  act(check, async (flags, folders) => (await load()).checkSkills(host, folders, flags));
  for (const verb of ["activate", "deactivate"] as const) {
    const command = skills
      .command(verb)
      .description(verb === "activate" ? "hold a run to a skill" : "let a run go on without it")
      .argument("<name>")
      .requiredOption("--run <id>", "of which run");
    act(command, async (flags, [name = ""]) => (await load()).switchSkill(host, { verb, name }, flags));
  }
}
