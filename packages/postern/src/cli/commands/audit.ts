import { join } from "node:path";
import { Readable } from "node:stream";
import { counted, defined, isJsonObject } from "@postern/core";
import { type AuditEventView, audit, shape, type VerificationView, verification } from "@postern/core/contract";
import { verificationToWire } from "../../server/wire.ts";
import type { CommandGroup } from "../command.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { flagsOf, ofTool, pastTime, rowLimit, wholeNumber } from "../flags.ts";
import { openNamed, readNamed, writeNamed } from "../named-files.ts";
import { ago, allPages, type Columns, print, tableOf, type Work, withPostern } from "../output/print.ts";
import { type Paint, paintFor } from "../output/terminal.ts";
import { actorText, visible } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";

export function commands(group: CommandGroup): void {
  showCommand(group);
  group.run("verify [file]", "check every event and every signature; exit code 1 when something was changed", {
    words: { "[file]": "an exported log; checked without any Postern" },
    options: {
      "--against <note>": "a checkpoint stored elsewhere (its file): proves that nothing was cut off",
      "--public-key <file>": "the key to trust, instead of the one in the export",
    },
    run: async ({ sent: { file }, options: { against: from, publicKey }, host, flags }) => {
      if (file === undefined && publicKey !== undefined)
        throw new UsageProblem(
          "`--public-key` goes with an exported file; Postern's own log is checked with its own key.",
        );
      const against = from?.includes("\n") === false ? await readNamed(from) : from; // a note itself has several lines
      const found =
        file === undefined
          ? await withPostern({ host, flags }, {}, ({ operator }) => operator.audit.verify({ against }))
          : await verifyFile(file, against, publicKey);
      print({ host, flags }, found, verificationText(found, paintFor(host.terminal)));
      return found.intact && found.outcome !== "failed" ? exitCodes.ok : exitCodes.failed;
    },
  });
  group.run("export [file]", "the whole log as lines; with `--format`, the events that match", {
    flags: flagsOf(audit.export.query, {
      ...filterNotes(group),
      format: { value: "format", help: "how the events are written; without it the whole log, which can be verified" },
      agent: { value: "name", help: "only of this agent" },
      run_id: { name: "run", value: "id", help: "only of this run" },
      text: { value: "text", help: "only with this text, as it is written in the event" },
    }),
    run: ({ sent: { file, ...where }, ...typed }) =>
      withPostern(typed, {}, (work) => exportLog(work, defined(where), file)),
  });
  group.answer("checkpoint", "a signed note over everything until now", {
    ask: ({ operator }) => operator.audit.checkpoint(),
    text: ({ note }) => note,
  });
}

function filterNotes(group: CommandGroup) {
  return {
    type: { value: "type", help: "types apart by commas; one that ends in a dot: all that begin so: gate.,grant." },
    tool: ofTool,
    by: { value: "name", help: "only what this person decided, voted or did by hand" },
    trace_id: { name: "trace", value: "id", help: "only of this session" },
    outcome: { value: "outcome", help: "how it ended" },
    call_id: "none",
    since: pastTime(group.now),
    until: pastTime(group.now, "as for --since"),
  } as const;
}

function showCommand(group: CommandGroup): void {
  const flags = flagsOf(audit.list.query, {
    ...filterNotes(group),
    after: { value: "seq", help: "only what comes after this one", read: wholeNumber },
    limit: { ...rowLimit(50), help: "the last so many" },
  });
  group.answer("show", "its events, old to new", {
    isDefault: true,
    flags,
    ask: async ({ operator }, { after, ...where }) => {
      if (after !== undefined) return allPages({ ...where, after }, "events", (page) => operator.audit.list(page));
      if (where.limit === 0) return { events: [] };
      const { events } = await allPages(where, "events", (page) => operator.audit.latest(page));
      return { events: events.toReversed() };
    },
    text: ({ events }, work) => (events.length === 0 ? "No events.\n" : tableOf(foldedPins(events), columns, work)),
  });
}

/** One line of the table. `seq` is a range if it stands for several events. */
interface AuditRow
  extends Pick<
    AuditEventView,
    "timestamp" | "type" | "tool_name" | "decided_by" | "decided_via" | "principal" | "summary"
  > {
  readonly seq: number | string;
}

/** The first definitions of one server's tools are one line: a server has dozens of them, and a person reads none. */
function foldedPins(events: readonly AuditEventView[]): readonly AuditRow[] {
  const rows: AuditRow[] = [];
  for (let at = 0; at < events.length; ) {
    const [first, ...others] = pinsFrom(events, at);
    const last = others.at(-1);
    const event = events[at];
    if (event === undefined) break;
    at += 1 + others.length;
    if (first === undefined || last === undefined) rows.push(event);
    else {
      const summary = `${others.length + 1} tools of \`${serverOf(first)}\` are pinned as they were first seen.`;
      rows.push({ ...first, seq: `${first.seq}-${last.seq}`, summary });
    }
  }
  return rows;
}

/** The pins of one server that follow each other from this place on. */
function pinsFrom(events: readonly AuditEventView[], at: number): readonly AuditEventView[] {
  const server = serverOf(events[at]);
  if (server === undefined) return [];
  const end = events.findIndex((event, i) => i > at && serverOf(event) !== server);
  return events.slice(at, end < 0 ? undefined : end);
}

/** The server whose tool was pinned. Undefined for any other event. */
function serverOf(event: AuditEventView | undefined): string | undefined {
  const { type, data } = event ?? {};
  if (type !== "mcp.tool_pinned" || data === undefined || !isJsonObject(data)) return undefined;
  return typeof data["server"] === "string" ? data["server"] : undefined;
}

const columns: Columns<AuditRow> = {
  SEQ: ({ seq }) => String(seq),
  WHEN: ({ timestamp }, work) => ago(timestamp, work),
  EVENT: ({ type }) => type,
  TOOL: ({ tool_name }) => tool_name,
  /** The person and the credential of a decision; else the caller. */
  BY: ({ decided_by: by, decided_via: via, principal }) => (by === undefined ? principal?.agent : actorText(by, via)),
  "WHAT HAPPENED": ({ summary }) => summary,
};

/** `key_trusted: false`: only the file itself says who signed it. */
interface SignedBy {
  readonly signed_by: string;
  readonly public_key: string;
  readonly key_trusted: boolean;
}
type FileVerification = VerificationView | (VerificationView & SignedBy);

/** With the verifier that shares no code with the writer. */
async function verifyFile(
  file: string,
  against: string | undefined,
  keyFile: string | undefined,
): Promise<FileVerification> {
  const { verifyExport } = await import("../../audit/verify.ts");
  const publicKey = keyFile === undefined ? undefined : (await readNamed(keyFile)).trim();
  const from = { ...(against !== undefined && { against }), ...(publicKey !== undefined && { publicKey }) };
  await using handle = await openNamed(file);
  const found = await verifyExport(handle.createReadStream({ autoClose: false }), from);
  const shown = shape(verification, verificationToWire(found));
  if (!found.intact) return shown;
  const { publicKey: key, keyTrusted } = found;
  return { ...shown, signed_by: key.split("+", 1)[0] ?? "", public_key: key, key_trusted: keyTrusted };
}

function verificationText(found: FileVerification, paint: Paint): string {
  const { integrity, signer, outcome, problems = [] } = found;
  return [
    `${verificationLine(found, paint)}\n`,
    "public_key" in found ? `${signerLine(found)}\n` : "",
    ...problems.map((problem) => `${paint("red", "FAILED")}: ${visible(problem)}\n`),
    integrity === undefined ? "" : `integrity ${integrity}, signer ${signer}, outcome ${outcome}\n`,
  ].join("");
}

function verificationLine(found: VerificationView, paint: Paint): string {
  if (found.intact)
    return `${counted(found.events, "event")}, log ${paint("green", "intact")}, ${counted(found.checkpoints, "checkpoint")}, head ${found.head}`;
  const word = found.unreadable === undefined ? "BROKEN" : "UNREADABLE";
  return `${paint("red", word)} from event ${found.first_broken} on: ${visible(found.why)}`;
}

/** Anyone can sign a file with a key of their own; only a key from elsewhere proves the signer. */
function signerLine({ signed_by: name, public_key: key, key_trusted: isTrusted }: SignedBy): string {
  const whose = isTrusted
    ? "the key you trust"
    : "the key this file names itself; `--public-key FILE` holds it to one you trust";
  return `signed by ${name} (key ${key.slice(name.length + 1)}), ${whose}`;
}

async function exportLog(
  { operator, terminal, host, flags, command }: Work,
  where: Parameters<Work["operator"]["audit"]["export"]>[0],
  file?: string,
): Promise<ExitCode> {
  const bytes = operator.audit.export(where);
  if (file === undefined) {
    for await (const text of Readable.from(bytes).setEncoding("utf8")) terminal.out(text);
    return exitCodes.ok;
  }
  await writeNamed(file, bytes);
  if (where?.format !== undefined) {
    print({ host, flags }, { file }, `Exported to ${file}.\n`);
    return exitCodes.ok;
  }
  const key = join(await host.dataFolder(flags), "audit.pub");
  const check = `${command} audit verify ${file} --public-key audit.pub`;
  const text = `Exported to ${file}. Hand over ${key} too, another way: with both, anyone can check it anywhere.\n${check}\n`;
  print({ host, flags }, { file, public_key_file: key }, text);
  return exitCodes.ok;
}
