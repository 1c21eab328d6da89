/** What a script asks of Postern itself: no tool is called, no budget spent, and nothing here has an effect outside. */
import { messageOf, RuntimeFault } from "../calls/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../calls/json.ts";
import { referenceKey } from "../results/artifact-store.ts";
import { refused } from "./answers.ts";
import type { AskedCall, Settled, ToolSketch } from "./sandbox.ts";
import type { ScriptRun } from "./script-run.ts";
import { placeOf, pythonSignature, typescriptSignature } from "./signatures.ts";

/** Bigger artifacts stay references: pass them on. */
export const mostMaterializedBytes: number = 4 * 1024 * 1024;
const mostFound = 20;

export async function answerHost(asked: AskedCall, run: ScriptRun): Promise<Settled> {
  if (!run.spendHost())
    return refused(asked.place, "budget_exhausted", "The script has asked for help, files and progress too often.");
  try {
    switch (asked.kind) {
      case "help":
        return ok(asked, { text: helpText(asked.arguments, run) });
      case "progress":
        run.context.progress(
          textIn(asked.arguments, "text", "message", "content") ?? "",
          numberIn(asked.arguments, "fraction"),
        );
        return ok(asked, {});
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
    return refused(asked.place, "result_unavailable", messageOf(error).slice(0, 500));
  }
}

function ok({ place }: AskedCall, value: JsonObject): Settled {
  return { place, status: "ok", value: { status: "ok", ...value } };
}

/** Signature and description of one tool; or what fits a few words; or all names. */
function helpText(given: JsonObject, { offer: { sketches } }: ScriptRun): string {
  const name = textIn(given, "tool", "name", "query", "text") ?? "";
  const exact = sketches.find((sketch) => sketch.name === name || placeOf(sketch) === name || sketch.short === name);
  if (exact !== undefined) return described(exact);
  const words = name
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word !== "" && word !== "tools");
  const found = sketches.filter((sketch) => {
    const text = `${sketch.name} ${sketch.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (found.length === 0) return `Nothing fits \`${name.slice(0, 200)}\`. There are: ${names(sketches)}.`;
  if (words.length === 0 || found.length > mostFound) return `There are: ${names(found)}.`;
  return found.map(described).join("\n\n");
}

function described(sketch: ToolSketch): string {
  return `${typescriptSignature(sketch)}\n${pythonSignature(sketch)}\n${sketch.description}`;
}

function names(sketches: readonly ToolSketch[]): string {
  return sketches.map(placeOf).join(", ") || "none";
}

/** The bytes themselves, inside: text where they are UTF-8, else base64. */
async function materialized(asked: AskedCall, run: ScriptRun): Promise<Settled> {
  const { arguments: given, place } = asked;
  const digest = textIn(given, "ref", referenceKey, "artifact") ?? referenceIn(given["value"]);
  if (digest === undefined) {
    const text = textIn(given, "text");
    if (text === undefined) return refused(place, "arguments_invalid", "`materialize` needs a result or a reference.");
    return ok(asked, { path: pathOf(place, "txt"), media_type: "text/plain", bytes: Buffer.byteLength(text), text });
  }
  const { meta, bytes } = await run.parts.artifacts.open(digest, run.parent.authority.principal);
  if (bytes.byteLength > mostMaterializedBytes)
    return refused(
      place,
      "arguments_invalid",
      `The artifact has ${bytes.byteLength} bytes and a script gets ${mostMaterializedBytes} at most; pass its reference to a tool instead.`,
    );
  const text = utf8(bytes);
  const body = text === undefined ? { base64: Buffer.from(bytes).toString("base64") } : { text };
  const path = pathOf(place, text === undefined ? "bin" : "txt");
  return ok(asked, { path, media_type: meta.mediaType, bytes: bytes.byteLength, ref: digest, ...body });
}

async function put(asked: AskedCall, run: ScriptRun): Promise<Settled> {
  const { arguments: given, place } = asked;
  const mediaType = textIn(given, "media_type", "mediaType", "type", "content_type") ?? "text/plain";
  if (!/^[\w.+-]+\/[\w.+-]+(;.*)?$/.test(mediaType) || mediaType.length > 100)
    return refused(
      place,
      "arguments_invalid",
      `\`${mediaType.slice(0, 100)}\` is no media type; write \`image/png\`, for example.`,
    );
  const bytes = bytesIn(given);
  if (bytes === undefined)
    return refused(place, "arguments_invalid", "`artifacts.put` needs text or bytes, and a media type.");
  if (bytes.byteLength > mostMaterializedBytes)
    return refused(
      place,
      "arguments_invalid",
      `A script puts ${mostMaterializedBytes} bytes at most; these are ${bytes.byteLength}.`,
    );
  if (!run.spendHost(bytes.byteLength))
    return refused(place, "budget_exhausted", "The script has put too many bytes away; use what is there.");
  const { artifacts } = run.parts;
  const held = Buffer.from(bytes);
  const secret = (["utf8", "latin1"] as const).some((encoding) => run.parts.redactor.finds(held.toString(encoding)));
  if (secret) return refused(place, "secret_in_arguments", "The bytes hold a secret; nothing was kept.");
  const { digest } = await artifacts.put(bytes, mediaType, run.parent.authority.principal);
  if (run.session.pins.includes(digest)) await artifacts.unpin(digest);
  else run.session.pin(digest);
  run.journal.file({ artifact: digest, mediaType, put: true });
  return ok(asked, { ref: digest, media_type: mediaType, bytes: bytes.byteLength, text: "" });
}

function bytesIn(given: JsonObject): Uint8Array | undefined {
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
    return undefined; // bytes then
  }
}

function textIn(given: JsonObject, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = given[name];
    if (typeof value === "string") return value;
  }
  return undefined;
}

function numberIn(given: JsonObject, name: string): number | undefined {
  const value = given[name];
  return typeof value === "number" ? value : undefined;
}
