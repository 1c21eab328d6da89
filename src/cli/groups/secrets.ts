import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function secretCommands(program: Command, host: Host, act: Act): void {
  const secrets = program.command("secrets").description("values that tools borrow; sealed in the data folder");
  const load = () => import("../commands/secrets.ts");
  const named = (verb: string, description: string): Command =>
    secrets.command(verb).description(description).argument("<connector>").argument("<key>");
  // What stands too much may be a value: the refusal is ours, and does not repeat it.
  const set = named("set", "keep a value, read from standard input; a running Postern has it at once");
  act(set.allowExcessArguments(), async (flags, words) => (await load()).setSecret(host, words, flags));
  act(named("remove", "forget a value"), async (flags, words) => (await load()).removeSecret(host, words, flags));
  act(secrets.command("list").description("the names, never a value"), async (flags) =>
    (await load()).listSecrets(host, flags),
  );
}
