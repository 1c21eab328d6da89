import { type Command, Option } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function auditCommands(program: Command, host: Host, act: Act): void {
  const audit = program.command("audit").description("the tamper-evident log");
  const show = audit
    .command("show", { isDefault: true })
    .description("its events, old to new")
    .option("--type <type>", "types apart by commas; one that ends in a dot: all that begin so: gate.,grant.")
    .option("--tool <name>", "only of this tool")
    .option("--by <name>", "only what this person decided, voted or did by hand")
    .option("--trace <id>", "only of this session")
    .addOption(new Option("--outcome <outcome>", "how it ended").choices(["success", "failure", "suppressed", "info"]))
    .option("--since <time>", "ISO time, date, or age: 15m, 2h, 7d")
    .option("--until <time>", "as for --since")
    .option("--after <seq>", "only what comes after this one")
    .option("--limit <number>", "the last so many (default 50)");
  act(show, async (flags) => (await import("../commands/audit.ts")).showAudit(host, flags));
  const verify = audit
    .command("verify")
    .description("check every event and every signature; exit code 1 when something was changed")
    .argument("[file]", "an exported log; checked without any Postern")
    .option("--against <note>", "a checkpoint kept elsewhere (its file): proves that nothing was cut off")
    .option("--public-key <file>", "the key to trust, instead of the one in the export");
  act(verify, async (flags, [file]) => (await import("../commands/audit.ts")).verifyAudit(host, file, flags));
  act(audit.command("export").description("the whole log as lines").argument("[file]"), async (flags, [file]) =>
    (await import("../commands/audit.ts")).exportAudit(host, file, flags),
  );
  act(audit.command("checkpoint").description("a signed note over everything until now"), async (flags) =>
    (await import("../commands/audit.ts")).checkpointAudit(host, flags),
  );
}
