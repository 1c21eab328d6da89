import type { Settings } from "../../config/settings.ts";
import { revealer } from "../../secrets/lend.ts";
import { openSecrets } from "../../secrets/open-secrets.ts";
import { createRedactor } from "../../secrets/redactor.ts";
import type { CommandGroup } from "../command.ts";
import { commandName } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { noWorkers } from "../no-workers.ts";
import { type CommandInput, print } from "../output/print.ts";
import { paintFor } from "../output/terminal.ts";
import { table } from "../output/text.ts";
import { settingsFor } from "../settings-here.ts";

/** How long `list` waits for workers to report, in milliseconds. */
const reportMs = 1_500;

export function commands(group: CommandGroup): void {
  group.run(
    "key",
    "print the public key of this data folder, for `workers.keys` of the other side; makes it if it is missing",
    {
      run: async (typed) => {
        const settings = await settingsFor(typed.flags);
        const { loadWorkerKey } = await import("../../workers/worker-key.ts");
        const { publicKey } = await loadWorkerKey(settings.dataFolder);
        print(typed, { public_key: publicKey }, `${publicKey}\n`);
        return exitCodes.ok;
      },
    },
  );
  group.run("list", "the workers that are connected, and what they run", {
    isDefault: true,
    run: async (typed) => {
      const { settings, link } = await openLink(typed);
      await using opened = link;
      const { listWorkers } = await import("../../workers/list-workers.ts");
      const workers = await listWorkers(opened, settings.keys, reportMs, typed.host.clock);
      const rows = workers.map(({ name, group: of, running, limit, version, tools }) => [
        ...[name, of, `${running} of ${limit}`, version, tools.join(", ")],
      ]);
      const text = tableOf(typed, ["worker", "group", "runs", "version", "tools"], rows, "No worker is connected.\n");
      print(typed, { workers }, text);
      return exitCodes.ok;
    },
  });
  group.run("dead-letters", "orders and answers that were refused, and why; of the last seven days", {
    run: async (typed) => {
      await using link = (await openLink(typed)).link;
      const { listDeadLetters } = await import("../../workers/dead-letters.ts");
      const letters = await listDeadLetters(link);
      const rows = letters.map(({ at, message, reason, group: of, from = "", tool = "", callId = "" }) => [
        ...[at, message, reason, of, from, tool, callId],
      ]);
      const wire = letters.map(({ refusedBy, callId, ...letter }) => ({
        ...letter,
        refused_by: refusedBy,
        ...(callId !== undefined && { call_id: callId }),
      }));
      const headings = ["at", "message", "reason", "group", "from", "tool", "call"];
      print(typed, { dead_letters: wire }, tableOf(typed, headings, rows, "None was refused.\n"));
      return exitCodes.ok;
    },
  });
}

function tableOf(
  { host: { terminal } }: CommandInput,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none: string,
): string {
  return rows.length === 0 ? none : table(headings, rows, { terminal, paint: paintFor(terminal) });
}

async function openLink({ host, flags }: CommandInput): Promise<{
  readonly settings: NonNullable<Settings["workers"]>;
  readonly link: import("../../workers/nats.ts").NatsLink;
}> {
  const settings = await settingsFor(flags);
  const { workers } = settings;
  if (workers === undefined) throw noWorkers(commandName(flags));
  const redactor = createRedactor();
  const secrets = settings.secrets ?? (await openSecrets(settings.secretSettings, redactor));
  const { NatsLink } = await import("../../workers/nats.ts");
  const log = (problem: string): void => host.terminal.aside(`postern: ${problem}\n`);
  const link = await NatsLink.open(workers.nats, {
    clock: host.clock,
    resolve: revealer({ secrets, redactor }),
    log,
    name: "postern workers",
  });
  return { settings: workers, link };
}
