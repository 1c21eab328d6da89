/**
 * What a script gets: for the call of a tool a handle, or an exception with code and advice, never pending and never a
 * preview; for a question that no tool answers (help, progress, artifacts) Postern's own answer, without an effect outside.
 */

import {
  type Cut,
  isJsonObject,
  type Json,
  type JsonObject,
  messageOf,
  nextStepOf,
  type RefusalCode,
  RuntimeFault,
  referenceKey,
  refusals,
  type ToolOutcome,
} from "@postern/core";
import { type AskedCall, pythonName, type SettledCall, type ToolSketch, tooLarge } from "@postern/core/sandbox";
import { codeOf } from "@postern/core/system";
import type { ArtifactMeta } from "../results/artifact-store.ts";
import { cut, isStandIn } from "../results/cut.ts";
import { renderOutcome } from "../results/render.ts";
import { findsIn } from "../results/streams.ts";
import { mostPutBytes } from "./journal.ts";
import { nameList } from "./names.ts";
import type { ScriptRun } from "./script-run.ts";
import { placeOf, pythonPlaceOf, pythonSignature, typescriptSignature } from "./signatures.ts";

export async function settledOf(place: number, outcome: ToolOutcome, run: ScriptRun): Promise<SettledCall> {
  const { status, refusal } = outcome;
  if (status === "ok") {
    const value = handleOf(outcome);
    return { place, status, value: isElsewhere(outcome) ? await withData(value, outcome, run) : value };
  }
  if (status === "preview" || refusal === undefined) return refused(place, "preview_only");
  const { code } = refusal;
  const { message = "", advice = "" } = renderOutcome(outcome, { tool: "", inScript: true });
  const known = code === "tool_unknown" ? run.facts.offer.sketches.map(({ name }) => name) : [];
  return {
    place,
    status: status === "denied" ? "denied" : "error",
    code,
    message: code === "tool_unknown" ? `${message} There are: ${nameList(known)}.` : message,
    advice,
    value: handleOf(outcome),
  };
}

export function refused(place: number, code: RefusalCode, message: string = refusals[code].message): SettledCall {
  const { status, retry } = refusals[code];
  return { place, status, code, message, advice: nextStepOf({ code, retry }), value: { status, text: message } };
}

/** An answer that Postern gives itself. */
function answered({ place }: Pick<SettledCall, "place">, value: JsonObject): SettledCall {
  return { place, status: "ok", value: { status: "ok", ...value } };
}

function tooMuchAtOnce(place: number): SettledCall {
  const message = "That is more than a script gets at once; ask for it after the other results.";
  return refused(place, "overloaded", message);
}

/** {text, structured, ref, files, notes, status}: the prelude makes its ToolResult of it. */
function handleOf({ status, text, structured, artifact, files, summary, notes }: ToolOutcome): JsonObject {
  const handle: Record<string, Json> = { status, text };
  if (structured !== undefined) handle["structured"] = structured;
  if (artifact !== undefined) handle["ref"] = artifact;
  if (summary !== undefined) handle["summary"] = summary;
  if (notes !== undefined) handle["notes"] = [...notes];
  if (files !== undefined)
    handle["files"] = files.map(({ path, mediaType, artifact: ref }) => ({ path, media_type: mediaType, ref }));
  return handle;
}

/** Larger data stays in the artifact, and the script gets a message when it reads it. */
const mostDataBytes = 1024 * 1024;

/** Whether data of the result is in the artifact: structured content, a text that is its only member, or a text that is JSON. */
function isElsewhere(outcome: ToolOutcome): boolean {
  const { artifact, cut, text, structured } = outcome;
  if (artifact === undefined || cut === undefined || cut.isBrief === true) return false;
  return isStandIn(outcome) || cut.member !== undefined || (structured === undefined && /^\s*[[{]/.test(text));
}

/**
 * Adds the data of a result that was kept as an artifact, or the reason why it is missing, so a script can read a list
 * of any size. Of a text without data, a script has the beginning and the reference.
 */
async function withData(handle: JsonObject, outcome: ToolOutcome, run: ScriptRun): Promise<JsonObject> {
  const { artifact = "" } = outcome;
  const { structured, ...value } = handle;
  const found = await dataOf(artifact, outcome, run);
  if ("unread" in found && structured === undefined) return handle;
  if (!("unread" in found)) run.journal.use(artifact); // the script has all of it
  return { ...(structured !== undefined && { summary: structured }), ...value, ...found };
}

async function dataOf(digest: string, { cut, structured }: ToolOutcome, run: ScriptRun): Promise<JsonObject> {
  const { artifacts } = run.parts;
  const { principal } = run.facts.parent.authority;
  try {
    const { bytes: length } = await artifacts.meta(digest, principal);
    if (length > mostDataBytes || !run.journal.budget.bring(length))
      return { unread: `The data has ${length} bytes and a script reads ${mostDataBytes} at most. ${advice}` };
    const { bytes } = await artifacts.open(digest, principal);
    return dataIn(Buffer.from(bytes).toString(), cut, structured !== undefined);
  } catch (error) {
    return { unread: `The data could not be read: ${messageOf(error)}. ${advice}` };
  }
}

/** @param kept the artifact's text: the result's own, or `{ text?, structured?, content? }` */
function dataIn(kept: string, cut: Cut | undefined, isStructured: boolean): JsonObject {
  if (cut?.member !== undefined) return { text: kept, structured: { [cut.member]: kept } };
  if (!isStructured) return cut?.continuesAt === undefined ? {} : { text: kept };
  const body = JSON.parse(kept) as Json; // it was stored as JSON
  if (cut?.continuesAt !== undefined) return { text: kept, structured: body };
  return { structured: isJsonObject(body) ? (body["structured"] ?? null) : null };
}

const advice = "Hand the result itself on to another tool, or ask the tool for less.";

const mostFound = 20;
const longestProgress = 2_000;
const longestQuery = 200;
/** Larger artifacts stay references, which a script can pass on. */
const mostMaterializedBytes = 4 * 1024 * 1024;

export async function answerHost(asked: AskedCall, run: ScriptRun): Promise<SettledCall> {
  if (!run.journal.budget.ask())
    return refused(asked.place, "budget_exhausted", "The script has asked for help, files and progress too often.");
  const problem = tooLarge(asked, run.facts.host.terms);
  if (problem !== undefined) return refused(asked.place, "arguments_invalid", problem);
  const { fraction } = asked.arguments;
  try {
    switch (asked.kind) {
      case "help":
        return help(asked, run);
      case "progress":
        run.facts.context.progress(
          cut(textIn(asked.arguments, "text", "message", "content") ?? "", longestProgress),
          typeof fraction === "number" ? fraction : undefined,
        );
        return answered(asked, {});
      case "materialize":
        return await materialized(asked, run);
      case "artifact":
        return await put(asked, run);
      default:
        return refused(asked.place, "internal", "A script cannot ask for that.");
    }
  } catch (error) {
    if (error instanceof RuntimeFault && error.code === "artifact_unavailable")
      return refused(asked.place, "artifact_unavailable", error.message);
    run.parts.log(`A script's \`${asked.kind ?? asked.tool}\` failed: ${messageOf(error)}.`); // not to the script: the text may name paths of this host
    const message = `The artifacts could not be read or written (${codeOf(error)}); try it again, or do without.`;
    return refused(asked.place, "result_unavailable", message);
  }
}

function help(asked: AskedCall, run: ScriptRun): SettledCall {
  const text = helpText(asked.arguments, run);
  return run.journal.budget.bring(Buffer.byteLength(text)) ? answered(asked, { text }) : tooMuchAtOnce(asked.place);
}

/** The signature and description of one tool, the tools that match some words, or all names. */
function helpText(given: JsonObject, { facts }: ScriptRun): string {
  const { sketches } = facts.offer;
  const name = (textIn(given, "tool", "name", "query", "text") ?? "").slice(0, longestQuery);
  const isExact = (sketch: ToolSketch): boolean =>
    [sketch.name, sketch.short, pythonName(sketch.short), placeOf(sketch), pythonPlaceOf(sketch)].includes(name);
  const exact = sketches.find(isExact);
  if (exact !== undefined) return described(exact);
  const words = name
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word !== "" && word !== "tools");
  const found = sketches.filter((sketch) => {
    const text = `${sketch.name} ${sketch.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (found.length === 0) return `Nothing fits \`${name}\`. There are: ${names(sketches)}.`;
  if (words.length === 0 || found.length > mostFound) return `There are: ${names(found)}.`;
  return found.map(described).join("\n\n");
}

function described(sketch: ToolSketch): string {
  return `${typescriptSignature(sketch)}\n${pythonSignature(sketch)}\n${sketch.description}`;
}

function names(sketches: readonly ToolSketch[]): string {
  return sketches.map(placeOf).join(", ") || "none";
}

/** Brings the bytes into the script: as text if they are UTF-8, otherwise as base64. */
async function materialized(asked: AskedCall, run: ScriptRun): Promise<SettledCall> {
  const { arguments: given, place } = asked;
  const digest = textIn(given, "ref", referenceKey, "artifact") ?? referenceIn(given["value"]);
  if (digest === undefined) {
    const text = textIn(given, "text");
    if (text === undefined) return refused(place, "arguments_invalid", "`materialize` needs a result or a reference.");
    const bytes = Buffer.byteLength(text);
    if (!run.journal.budget.bring(bytes)) return tooMuchAtOnce(place);
    return answered(asked, { path: pathOf(place, "txt"), media_type: "text/plain", bytes, text });
  }
  const { artifacts } = run.parts;
  const { principal } = run.facts.parent.authority;
  const meta = await artifacts.meta(digest, principal); // an artifact that is too large is not read
  if (meta.bytes > mostMaterializedBytes)
    return refused(
      place,
      "arguments_invalid",
      `The artifact has ${meta.bytes} bytes and a script gets ${mostMaterializedBytes} at most; pass its reference to a tool instead.`,
    );
  if (!run.journal.budget.bring(meta.bytes)) return tooMuchAtOnce(place);
  const { bytes } = await artifacts.open(digest, principal);
  run.facts.used.opened.add(digest);
  const text = utf8(bytes);
  const body = text === undefined ? { base64: Buffer.from(bytes).toString("base64") } : { text };
  const path = pathOf(place, text === undefined ? "bin" : "txt");
  return answered(asked, { path, media_type: meta.mediaType, bytes: bytes.byteLength, ref: digest, ...body });
}

/** Large content comes in pieces: each is kept as it comes, and the last call names them. */
async function put(asked: AskedCall, run: ScriptRun): Promise<SettledCall> {
  const { arguments: given, place } = asked;
  const mediaType = textIn(given, "media_type", "mediaType", "type", "content_type") ?? "text/plain";
  if (!/^[\w.+-]+\/[\w.+-]+(;.*)?$/.test(mediaType) || mediaType.length > 100)
    return refused(
      place,
      "arguments_invalid",
      `\`${mediaType.slice(0, 100)}\` is not a media type; write \`image/png\`, for example.`,
    );
  const { pieces } = given;
  const bytes = pieces === undefined ? counted(bytesIn(given), run) : await joined(pieces, run);
  if (bytes === undefined)
    return refused(place, "arguments_invalid", "`artifacts.put` needs text or bytes, and a media type.");
  if (bytes === "too many")
    return refused(
      place,
      "budget_exhausted",
      `A script puts ${mostPutBytes} bytes away in all, and joins no more than it has put; this is more. Use what is there.`,
    );
  const { redactor } = run.parts;
  if ((await findsIn(bytes.toString(), redactor)) || (await findsIn(bytes.toString("latin1"), redactor)))
    return refused(place, "secret_in_arguments", "The bytes hold a secret; nothing was kept.");
  const digest = await keep(bytes, mediaType, run);
  if (given["piece"] !== true) {
    run.journal.file({ artifact: digest, mediaType, put: true });
    run.facts.used.stored.add(digest); // it is judged with the script's result
  }
  return answered(asked, { ref: digest, media_type: mediaType, bytes: bytes.byteLength, text: "" });
}

async function keep(bytes: Uint8Array, mediaType: string, { parts, facts, session }: ScriptRun): Promise<string> {
  const { artifacts } = parts;
  const { digest } = await artifacts.put(bytes, mediaType, facts.parent.authority.principal);
  if (session.pins.includes(digest)) await artifacts.unpin(digest);
  else session.pin(digest);
  return digest;
}

function counted(bytes: Buffer | undefined, { journal: { budget } }: ScriptRun): Buffer | "too many" | undefined {
  return bytes === undefined || budget.put(bytes.byteLength) ? bytes : "too many";
}

/** Joins what the script has put before. The budget is checked before anything is read. */
async function joined(
  pieces: Json,
  { parts, facts, session, journal: { budget } }: ScriptRun,
): Promise<Buffer | "too many" | undefined> {
  if (!Array.isArray(pieces)) return undefined;
  const { artifacts } = parts;
  const { principal } = facts.parent.authority;
  const held = new Set(session.pins);
  const metas: ArtifactMeta[] = [];
  let length = 0;
  for (const digest of pieces) {
    if (typeof digest !== "string" || !held.has(digest)) return undefined;
    const meta = await artifacts.meta(digest, principal);
    metas.push(meta);
    length += meta.bytes;
    if (length > mostPutBytes) return "too many";
  }
  if (!budget.join(length)) return "too many";
  const whole = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { digest } of metas) {
    const { bytes } = await artifacts.open(digest, principal);
    whole.set(bytes, at);
    at += bytes.byteLength;
  }
  return whole;
}

function bytesIn(given: JsonObject): Buffer | undefined {
  const base64 = textIn(given, "base64", "data");
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  const text = textIn(given, "text", "content");
  if (text !== undefined) return Buffer.from(text);
  const { value } = given;
  return value === undefined ? undefined : Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
}

function referenceIn(value: Json | undefined): string | undefined {
  return isJsonObject(value) ? textIn(value, referenceKey, "ref") : undefined;
}

function pathOf(place: number, extension: string): string {
  return `/workspace/result_${place}.${extension}`;
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The text of the first of these members that has one: models write different names. */
function textIn(given: JsonObject, ...names: readonly string[]): string | undefined {
  return names.map((name) => given[name]).find((value) => typeof value === "string");
}
