import { counted, RuntimeFault } from "@postern/core";
import { copyStore, type StoreSummary } from "../../backup/copy-store.ts";
import { revealer } from "../../secrets/lend.ts";
import { openSecrets } from "../../secrets/open-secrets.ts";
import { createRedactor } from "../../secrets/redactor.ts";
import { withSecrets } from "../../secrets/secret-reference.ts";
import { isPostgresAddress, readPostgresAddress } from "../../store/postgres/address.ts";
import { SqliteRows } from "../../store/sqlite/sqlite-rows.ts";
import type { OpenRows } from "../../store/store-rows.ts";
import type { CommandGroup } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { type Columns, type CommandInput, print, tableOf } from "../output/print.ts";
import { settingsFor } from "../settings-here.ts";

export function commands(group: CommandGroup): void {
  group.answer("size", "what the store and the artifacts take, by kind", {
    isDefault: true,
    ask: ({ operator }) => operator.storage.show(),
    text: ({ kinds, last_backup_at: last }, work) =>
      `${tableOf(kinds, columns, work)}${last === undefined ? "No backup was checked yet" : `The last checked backup is of ${last}`}.\n`,
  });
  group.run("copy <from> <to>", "copy everything into a new store; no Postern may use either", {
    words: {
      "<from>": "`sqlite:FILE`",
      "<to>": "`sqlite:FILE`, a new file, or `postgres://…` or `secret://…`, empty",
    },
    run: async ({ host, flags, sent: { from, to } }) => {
      const copied = await copy(from, await revealed(to, flags));
      const { calls, approvals, waiting, events, documents, root } = copied;
      const text = `Copied ${counted(calls, "call")}, ${counted(approvals, "request")} (${waiting} without a decision), ${counted(documents, "document")} and ${counted(events, "event")}; both logs have the root ${root}.\n`;
      print({ host, flags }, { from, to: shownStore(to), ...copied }, text);
      return exitCodes.ok;
    },
  });
}

const sqlite = "sqlite:";

/** Nothing may use either store meanwhile. Of a copy that is not complete nothing stays. */
async function copy(from: string, to: string): Promise<StoreSummary> {
  await using source = openFile(from, "`sqlite:FILE`", { isNew: false });
  await using target = await openTarget(to);
  return await copyStore(source, target);
}

/** As `store` in the configuration: a password on a command line can be read by other users. */
async function revealed(store: string, flags: CommandInput["flags"]): Promise<string> {
  if (!store.includes("secret://")) return store;
  const settings = await settingsFor(flags);
  const redactor = createRedactor();
  const secrets = settings.secrets ?? (await openSecrets(settings.secretSettings, redactor));
  return withSecrets(store, revealer({ secrets, redactor }));
}

/** Without the password. */
function shownStore(store: string): string {
  return isPostgresAddress(store) ? readPostgresAddress(store).shown : store;
}

async function openTarget(store: string): Promise<OpenRows> {
  if (!isPostgresAddress(store)) return openFile(store, "`sqlite:FILE` or `postgres://…`", { isNew: true });
  const { openPostgresRows } = await import("../../store/postgres/postgres-rows.ts");
  return openPostgresRows(store);
}

function openFile(store: string, form: string, options: { readonly isNew: boolean }): OpenRows {
  if (store.startsWith(sqlite) && store !== "sqlite::memory:")
    return new SqliteRows(store.slice(sqlite.length), options);
  const role = options.isNew ? "into which a store" : "that";
  throw new RuntimeFault(
    "options_invalid",
    `\`${shownStore(store)}\` names no store ${role} can be copied; use ${form}.`,
  );
}

type SizeRow = { readonly kind: string; readonly rows: number; readonly bytes: number };

const columns: Columns<SizeRow> = {
  KIND: ({ kind }) => kind,
  ROWS: ({ rows }) => String(rows),
  BYTES: ({ bytes }) => String(bytes),
};
