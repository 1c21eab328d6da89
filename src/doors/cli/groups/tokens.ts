import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function tokenCommands(program: Command, host: Host, act: Act): void {
  const tokens = program.command("tokens").description("tokens for programs: scoped, expiring, revocable at once");
  const load = () => import("../commands/tokens.ts");
  act(tokens.command("list", { isDefault: true }).description("all of them, never their text"), async (flags) =>
    (await load()).listTokens(host, flags),
  );
  const create = tokens
    .command("create")
    .description("make one; its text is shown once")
    .argument("<name>", "what it is for")
    .option("--kind <kind>", "agent: may call; person: may decide and read (default agent)")
    .option("--scopes <scopes>", "of tools, apart by commas: what its calls may claim")
    .option("--permissions <permissions>", "apart by commas; all that its kind may have when nothing is said")
    .option("--agent <name>", "who calls with it (default: its name); of who is no admin, YOU/NAME")
    .option("--user <name>", "on whose behalf it calls")
    .option("--days <number>", "until it expires, 1 to 366 (default 90)");
  act(create, async (flags, [name = ""]) => (await load()).createToken(host, name, flags));
  act(
    tokens.command("revoke").description("from the next request on it is nobody's").argument("<id>", "`tok_…`"),
    async (flags, [id = ""]) => (await load()).revokeToken(host, id, flags),
  );
}
