/**
 * Reads a step from a frame. Each field is checked by its type, and other fields are dropped.
 */
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { AskedCall, Printed, ScriptStep } from "../sandbox.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

const kinds: ReadonlySet<string> = new Set(["call", "help", "materialize", "artifact", "progress"]);
const reasons: ReadonlySet<string> = new Set([
  "script",
  "cpu",
  "memory",
  "output",
  "deadlock",
  "crash",
  "protocol",
  "wall",
  "unsupported",
]);
const maxNameLength = 256;
const maxCallsAtOnce = 10_000;

/** @throws ProtocolBroken when it is no step */
export function readStep(frame: JsonObject): ScriptStep {
  const printed = readPrinted(frame["printed"]);
  const said = printed.length === 0 ? {} : { printed };
  switch (frame["step"]) {
    case "calls":
      return { step: "calls", calls: listOf(frame["calls"], readCall), ...said };
    case "done":
      return { step: "done", value: frame["value"], ...cutOf(frame["cutBytes"]), ...said };
    case "failed": {
      const why = frame["why"];
      if (!isReason(why)) throw new ProtocolBroken("A step failed for an unknown reason.");
      return { step: "failed", why, message: textOf(frame["message"], "message"), ...lineOf(frame["line"]), ...said };
    }
    default:
      throw new ProtocolBroken("A frame is no step.");
  }
}

function readCall(given: Json): AskedCall {
  if (!isJsonObject(given)) throw new ProtocolBroken("A call is not an object.");
  const { place, kind, action } = given;
  if (typeof place !== "number" || !Number.isSafeInteger(place) || place < 0) {
    throw new ProtocolBroken("A call has no place.");
  }
  if (!isJsonObject(given["arguments"])) throw new ProtocolBroken("A call's arguments are not an object.");
  if (kind !== undefined && !isKind(kind)) throw new ProtocolBroken("A call is of an unknown kind.");
  return {
    place,
    tool: nameOf(given["tool"]),
    arguments: given["arguments"],
    ...(action === undefined ? {} : { action: nameOf(action) }),
    ...lineOf(given["line"]),
    ...cutOf(given["cutBytes"]),
    ...(kind === undefined ? {} : { kind }),
  };
}

function readPrinted(given: Json | undefined): readonly Printed[] {
  if (given === undefined) return [];
  return listOf(given, (one) => {
    if (!isJsonObject(one)) throw new ProtocolBroken("A print is not an object.");
    return { stream: one["stream"] === "error" ? "error" : "out", text: textOf(one["text"], "text") };
  });
}

function listOf<T>(given: Json | undefined, read: (one: Json) => T): readonly T[] {
  if (!Array.isArray(given)) throw new ProtocolBroken("A list is missing.");
  if (given.length > maxCallsAtOnce) throw new ProtocolBroken(`A list has more than ${maxCallsAtOnce} entries.`);
  return given.map((one: Json) => read(one));
}

/** A wrong line number is dropped: it is only shown to people. */
function lineOf(given: Json | undefined): { readonly line?: number } {
  return typeof given === "number" && Number.isSafeInteger(given) && given > 0 ? { line: given } : {};
}

/** The size of a value that large-frame.ts dropped. */
function cutOf(given: Json | undefined): { readonly cutBytes?: number } {
  return typeof given === "number" ? { cutBytes: given } : {};
}

function nameOf(given: Json | undefined): string {
  const name = textOf(given, "name");
  if (name === "" || name.length > maxNameLength) throw new ProtocolBroken("A name is empty or too long.");
  return name;
}

function textOf(given: Json | undefined, what: string): string {
  if (typeof given !== "string") throw new ProtocolBroken(`A ${what} is not text.`);
  return given;
}

function isKind(given: Json): given is NonNullable<AskedCall["kind"]> {
  return typeof given === "string" && kinds.has(given);
}

function isReason(given: Json | undefined): given is Extract<ScriptStep, { step: "failed" }>["why"] {
  return typeof given === "string" && reasons.has(given);
}
