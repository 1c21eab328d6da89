import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { headOf } from "../../results/cut.ts";
import { withoutNullKeywords } from "../../tools/schema/tidy-schema.ts";
import { withoutNullMembers, withoutNulls } from "../protocol/null-members.ts";
import { definitionFields } from "./definition.ts";
import type { RefusedTool } from "./upstream.ts";

const mostNameCharacters = 128;
/** What is passed on of a tool. Icons and `_meta` are for clients, no model reads them: they are not pinned. */
const listedFields = [...definitionFields, "icons", "_meta"];

/**
 * Takes what is no tool out of a list before the SDK reads it, which refuses all of a list over one entry; and takes null
 * for an optional member as what it is meant to be: nothing.
 */
export class ToolList {
  /** Revision 2025-11-25 has stricter output schemas. */
  readonly #isOld: () => boolean;
  #malformed: RefusedTool[] = [];

  constructor(isOld: () => boolean) {
    this.#isOld = isOld;
  }

  /** Since `begin`: a list may have several pages. */
  get malformed(): readonly RefusedTool[] {
    return this.#malformed;
  }

  begin(): void {
    this.#malformed = [];
  }

  /** Every message goes to the SDK through this. */
  watch(transport: Transport): Transport {
    let hear: Transport["onmessage"];
    Object.defineProperty(transport, "onmessage", {
      get: () => hear,
      set: (next: Transport["onmessage"]) => {
        // The SDK's listeners call the one they found here: what is sifted once more stays as it is.
        hear = next && ((message, extra) => next(this.#sifted(message), extra));
      },
    });
    return transport;
  }

  #sifted(message: JSONRPCMessage): JSONRPCMessage {
    const whole = withoutNullMembers(message);
    if (!("result" in whole)) return whole;
    const result = whole.result as JsonObject; // it was read from JSON
    if (!isJsonObject(result) || !Array.isArray(result["tools"]) || "content" in result) return whole;
    const tools = (result["tools"] as readonly Json[]).flatMap((entry, place) => this.#tool(entry, place) ?? []);
    return { ...whole, result: { ...result, tools } };
  }

  #tool(entry: Json, place: number): JsonObject | undefined {
    const given = isJsonObject(entry) ? withoutNullFields(entry) : entry;
    const why = whyNoTool(given, this.#isOld());
    if (why === undefined && isJsonObject(given)) {
      const listed = { ...given, ...extrasOf(given) };
      return Object.fromEntries(listedFields.flatMap((field) => memberOf(listed, field)));
    }
    const name = isJsonObject(entry) ? entry["name"] : undefined;
    const tool = typeof name === "string" && name !== "" ? headOf(name, mostNameCharacters) : `number-${place + 1}`;
    this.#malformed.push({ tool, why: why ?? notAnObject });
    return undefined;
  }
}

/** Null stands for a member that is not there; within schemas, for a keyword that is not. */
function withoutNullFields(entry: JsonObject): JsonObject {
  const { inputSchema, outputSchema, annotations, ...rest } = withoutNulls(entry);
  return {
    ...rest,
    ...(inputSchema !== undefined && {
      inputSchema: isJsonObject(inputSchema) ? withoutNullKeywords(inputSchema) : inputSchema,
    }),
    ...(outputSchema !== undefined && {
      outputSchema: isJsonObject(outputSchema) ? withoutNullKeywords(outputSchema) : outputSchema,
    }),
    ...(annotations !== undefined && {
      annotations: isJsonObject(annotations) ? withoutNulls(annotations) : annotations,
    }),
  };
}

/** What only decorates a tool loses no tool: what is malformed or too large of it is left out. */
function extrasOf({ icons, _meta: meta }: JsonObject): JsonObject {
  const shown = Array.isArray(icons) ? icons.filter(isIcon).map(withoutNulls) : [];
  const own = isJsonObject(meta) ? Object.entries(meta).filter(([name]) => !name.startsWith("postern/")) : [];
  return {
    icons: shown.length > 0 && fits(shown) ? shown : undefined,
    _meta: own.length > 0 && fits(own) ? Object.fromEntries(own) : undefined,
  } as unknown as JsonObject; // `memberOf` leaves out what is undefined
}

const mostExtraCharacters = 64 * 1024;

function fits(extra: readonly unknown[]): boolean {
  return JSON.stringify(extra).length <= mostExtraCharacters;
}

function isIcon(icon: Json): icon is JsonObject {
  if (!isJsonObject(icon)) return false;
  const { src, mimeType = null, sizes = null, theme = null } = icon;
  const isText = (value: Json): boolean => value === null || typeof value === "string";
  return (
    typeof src === "string" &&
    /^(?:https?:\/\/|data:image\/)/i.test(src) &&
    isText(mimeType) &&
    (theme === null || theme === "light" || theme === "dark") &&
    (sizes === null || (Array.isArray(sizes) && sizes.every((size: Json) => typeof size === "string")))
  );
}

function memberOf(entry: JsonObject, field: string): readonly (readonly [string, Json])[] {
  const value = entry[field];
  return value === undefined ? [] : [[field, value]];
}

const notAnObject = "It is listed as something that is no object.";
const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/** In the order in which a server's author would mend it. */
function whyNoTool(entry: Json, isOld: boolean): string | undefined {
  if (!isJsonObject(entry)) return notAnObject;
  const { name, inputSchema, outputSchema, annotations = {} } = entry;
  if (typeof name !== "string" || name === "") return "It is listed without a `name`.";
  for (const field of ["title", "description"])
    if (entry[field] !== undefined && typeof entry[field] !== "string") return `Its \`${field}\` is no text.`;
  const input = whyNoObjectSchema(inputSchema, true);
  if (input !== undefined) return `Its \`inputSchema\` ${input}.`;
  const output = outputSchema === undefined ? undefined : whyNoObjectSchema(outputSchema, isOld);
  if (output !== undefined) return `Its \`outputSchema\` ${output}.`;
  if (!isJsonObject(annotations)) return "Its `annotations` are no object.";
  if (annotations["title"] !== undefined && typeof annotations["title"] !== "string")
    return "Its `annotations.title` is no text.";
  const wrong = hints.find((hint) => annotations[hint] !== undefined && typeof annotations[hint] !== "boolean");
  return wrong === undefined ? undefined : `Its \`annotations.${wrong}\` is neither true nor false.`;
}

function whyNoObjectSchema(schema: Json | undefined, ofObject: boolean): string | undefined {
  if (!isJsonObject(schema)) return schema === undefined ? "is missing" : "is no JSON Schema object";
  if (schema["$schema"] !== undefined && typeof schema["$schema"] !== "string")
    return "has a `$schema` that is no text";
  if (!ofObject) return undefined;
  const { type, properties = {}, required = [] } = schema;
  if (type !== "object") return "does not say `type: object`";
  if (!isJsonObject(properties)) return "has `properties` that are no object";
  return Array.isArray(required) && required.every((name: Json) => typeof name === "string")
    ? undefined
    : "has a `required` that is no list of names";
}
