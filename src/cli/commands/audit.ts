import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { counted } from "../../core/shown.ts";
import type { PosternClient } from "../../server/client/client.ts";
import {
  type AuditEventView,
  auditOutcomes,
  type audit as contract,
  type VerificationView,
  verification,
} from "../../server/contract/audit.ts";
import { type SentTo, shape } from "../../server/contract/route.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { makeNamed, openNamed, readNamed } from "../named-files.ts";
import { upTo } from "../pages.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { type Paint, paintFor } from "../terminal.ts";
import { actorText, relative, table, visible } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { instant, oneOf, wholeNumber } from "./typed.ts";

export interface AuditShowFlags extends GlobalFlags {
  readonly type?: string;
  readonly tool?: string;
  readonly by?: string;
  readonly trace?: string;
  readonly outcome?: string;
  readonly since?: string;
  readonly until?: string;
  readonly after?: string;
  readonly limit?: string;
}

/** The latest events, old to new; with `--after` the ones that follow it. */
export async function showAudit(host: Host, flags: AuditShowFlags): Promise<ExitCode> {
  const limit = wholeNumber(flags.limit ?? "50", "--limit");
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const where = filterOf(flags, work.now());
    const found =
      flags.after === undefined
        ? { events: await latest(work.operator, where, limit) }
        : await following(work.operator, where, limit);
    if (work.json) printJson(work, found);
    else work.terminal.out(found.events.length === 0 ? "No events.\n" : eventTable(work, found.events));
    return exitCodes.ok;
  });
}

type AuditWhere = SentTo<typeof contract.list>;

/** From the log's end. */
async function latest({ audit }: PosternClient, where: AuditWhere, limit: number): Promise<readonly AuditEventView[]> {
  if (limit === 0) return [];
  const { rows } = await upTo(limit, async (most, from?: number) => {
    const page = await audit.latest({ ...where, limit: most, ...(from !== undefined && { before: from }) });
    return { rows: page.events, next: page.next_before };
  });
  return rows.toReversed();
}

async function following({ audit }: PosternClient, where: AuditWhere, limit: number) {
  const { rows: events, next } = await upTo(limit, async (most, from?: number) => {
    const page = await audit.list({ ...where, limit: most, ...(from !== undefined && { after: from }) });
    return { rows: page.events, next: page.next_after };
  });
  return { events, next_after: next };
}

function filterOf({ type, tool, by, trace, outcome, since, until, after }: AuditShowFlags, now: number): AuditWhere {
  return {
    ...(type !== undefined && { type }),
    ...(tool !== undefined && { tool }),
    ...(by !== undefined && { by }),
    ...(trace !== undefined && { trace_id: trace }),
    ...(outcome !== undefined && { outcome: oneOf(outcome, auditOutcomes, "--outcome") }),
    ...(since !== undefined && { since: instant(since, "--since", now) }),
    ...(until !== undefined && { until: instant(until, "--until", now) }),
    ...(after !== undefined && { after: wholeNumber(after, "--after") }),
  };
}

function eventTable({ terminal, paint, now }: Work, events: readonly AuditEventView[]): string {
  const rows = events.map((event) => [
    String(event.seq),
    relative(Date.parse(event.timestamp), now()),
    event.type,
    event.tool_name ?? "",
    whoDid(event),
    event.summary,
  ]);
  return table(["SEQ", "WHEN", "EVENT", "TOOL", "BY", "WHAT HAPPENED"], rows, { terminal, paint });
}

/** The person and the credential of what was decided or done by hand; else who called. */
function whoDid({ decided_by: by, decided_via: via, principal }: AuditEventView): string {
  return by === undefined ? (principal?.agent ?? "") : actorText(by, via);
}

export interface VerifyFlags extends GlobalFlags {
  readonly against?: string;
  readonly publicKey?: string;
}

/** The running log, or an exported file, which needs no Postern at all. */
export async function verifyAudit(host: Host, file: string | undefined, flags: VerifyFlags): Promise<ExitCode> {
  const against = flags.against === undefined ? undefined : await noteFrom(flags.against);
  if (file !== undefined) return printVerification(host, flags, await verifyFile(file, against, flags.publicKey));
  if (flags.publicKey !== undefined)
    throw new UsageProblem("`--public-key` goes with an exported file; Postern's own log is checked with its own key.");
  return withPostern({ host, flags, needs: { tools: false } }, async (work) =>
    printVerification(host, flags, await work.operator.audit.verify({ against })),
  );
}

/** By the verifier that shares no code with the writer. */
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
  const shown = shape(verification, found);
  if (!found.intact) return shown;
  const { publicKey: key, keyTrusted } = found;
  return { ...shown, signed_by: key.split("+", 1)[0] ?? "", public_key: key, key_trusted: keyTrusted };
}

/** `key_trusted: false`: only the file itself says who signed it. */
interface SignedBy {
  readonly signed_by: string;
  readonly public_key: string;
  readonly key_trusted: boolean;
}
type FileVerification = VerificationView | (VerificationView & SignedBy);

/** A signed note itself, or the file it was kept in. */
async function noteFrom(text: string): Promise<string> {
  return text.includes("\n") ? text : readNamed(text);
}

function printVerification({ terminal }: Host, flags: GlobalFlags, found: FileVerification): ExitCode {
  if (flags.json === true) printJson({ terminal }, found);
  else {
    terminal.out(`${verificationLine(found, paintFor(terminal))}\n`);
    if ("public_key" in found) terminal.out(`${signerLine(found)}\n`);
    for (const problem of found.problems ?? [])
      terminal.out(`${paintFor(terminal)("red", "FAILED")}: ${visible(problem)}\n`);
    if (found.integrity !== undefined)
      terminal.out(`integrity ${found.integrity}, signer ${found.signer}, outcome ${found.outcome}\n`);
  }
  return found.intact && found.outcome !== "failed" ? exitCodes.ok : exitCodes.failed;
}

function verificationLine(found: VerificationView, paint: Paint): string {
  if (found.intact)
    return `${counted(found.events, "event")}, log ${paint("green", "intact")}, ${counted(found.checkpoints, "checkpoint")}, head ${found.head}`;
  if (found.unreadable !== undefined)
    return `${paint("red", "UNREADABLE")} from event ${found.first_broken} on: ${visible(found.why)}`;
  return `${paint("red", "BROKEN")} from event ${found.first_broken} on: ${visible(found.why)}`;
}

/** A file vouches for itself in the name of whoever made it: who that is, only a key from elsewhere tells. */
function signerLine({ signed_by: name, public_key: key, key_trusted: isTrusted }: SignedBy): string {
  const whose = isTrusted
    ? "the key you trust"
    : "the key this file names itself; `--public-key FILE` holds it to one you trust";
  return `signed by ${name} (key ${key.slice(name.length + 1)}), ${whose}`;
}

/** To a file that is not there yet, or to standard output. */
export async function exportAudit(host: Host, file: string | undefined, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async ({ operator, terminal, ...work }) => {
    if (file === undefined) {
      for await (const text of Readable.from(operator.audit.export()).setEncoding("utf8")) terminal.out(text);
      return exitCodes.ok;
    }
    await using handle = await makeNamed(file);
    try {
      for await (const bytes of operator.audit.export()) await handle.write(bytes);
      await handle.sync();
    } catch (error) {
      await rm(file, { force: true }); // half a log looks like one that was cut
      throw error;
    }
    const key = join(await host.dataFolder(flags), "audit.pub");
    if (work.json) printJson({ terminal }, { file, public_key_file: key });
    else terminal.out(exported(file, key, work.command));
    return exitCodes.ok;
  });
}

function exported(file: string, key: string, command: string): string {
  const check = `${command} audit verify ${file} --public-key audit.pub`;
  return `Exported to ${file}. Hand over ${key} too, another way: who has both checks it anywhere.\n${check}\n`;
}

/** A signed note over everything until now: kept elsewhere, it proves later that nothing was cut off. */
export async function checkpointAudit(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const checkpoint = await work.operator.audit.checkpoint();
    if (work.json) printJson(work, checkpoint);
    else work.terminal.out(checkpoint.note);
    return exitCodes.ok;
  });
}
