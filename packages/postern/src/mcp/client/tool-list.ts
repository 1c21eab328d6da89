import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { z } from "zod";
import { headOf } from "../../results/cut.ts";
import { withoutNullKeywords } from "../../tools/schema/tidy-schema.ts";
import { withoutNulls } from "../protocol/null-members.ts";
import { withoutDepths } from "./deep-values.ts";
import { definitionFields } from "./definition.ts";
import type { RefusedTool, UpstreamTool } from "./upstream.ts";

const mostNameCharacters = 128;
/** What is passed on of a tool. Icons and `_meta` are for clients and no model reads them, so they are not pinned. */
const listedFields = [...definitionFields, "icons", "_meta"];

/** Takes out of a list what is no tool, and reads null for an optional member as a member that is left out. */
export class ToolList {
  readonly tools: UpstreamTool[] = [];
  /** The entries that are no tools. */
  readonly malformed: RefusedTool[] = [];
  /** Tools that run only as tasks of revision 2025-11-25. */
  readonly asTasks = new Set<string>();

  /** @param entries one page of the list */
  add(entries: readonly Json[]): void {
    for (const [place, entry] of entries.entries()) {
      const tool = this.#tool(entry, place);
      if (tool === undefined) continue;
      this.tools.push(tool as unknown as UpstreamTool); // checked
      if (isJsonObject(entry) && isJsonObject(entry["execution"]) && entry["execution"]["taskSupport"] === "required")
        this.asTasks.add(String(tool["name"]));
    }
  }

  #tool(given: Json, place: number): JsonObject | undefined {
    const entry = withoutDepths(given);
    const tool = isJsonObject(entry) ? withObjectInput(withoutNullFields(entry)) : entry;
    const { error } = toolSchema.safeParse(tool);
    if (error === undefined && isJsonObject(tool)) {
      const listed: JsonObject = { ...tool, ...extrasOf(tool) };
      return Object.fromEntries(listedFields.flatMap((field) => memberOf(listed, field)));
    }
    const name = isJsonObject(entry) ? entry["name"] : undefined;
    const known = typeof name === "string" && name !== "" ? headOf(name, mostNameCharacters) : `number-${place + 1}`;
    this.malformed.push({ tool: known, why: error?.issues[0]?.message ?? "" });
    return undefined;
  }
}

/** Arguments are an object, so a schema without a type means one. */
function withObjectInput(tool: JsonObject): JsonObject {
  const { inputSchema } = tool;
  if (!isJsonObject(inputSchema) || inputSchema["type"] !== undefined) return tool;
  return { ...tool, inputSchema: { ...inputSchema, type: "object" } };
}

/** Null stands for a member that is left out, and inside schemas for a keyword that is left out. */
function withoutNullFields(entry: JsonObject): JsonObject {
  const tool = withoutNulls(entry);
  return Object.fromEntries(
    Object.entries(tool).map(([name, value]) => {
      if (!isJsonObject(value)) return [name, value];
      if (name === "inputSchema" || name === "outputSchema") return [name, withoutNullKeywords(value)];
      return [name, name === "annotations" ? withoutNulls(value) : value];
    }),
  );
}

/** Decoration that is malformed or too large is left out, and the tool stays. */
function extrasOf({ icons, _meta: meta }: JsonObject): JsonObject {
  const shown = iconsIn(icons);
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

function memberOf(entry: JsonObject, field: string): readonly (readonly [string, Json])[] {
  const value = entry[field];
  return value === undefined ? [] : [[field, value]];
}

/** The icons of a list that the protocol has. */
export function iconsIn(icons: Json | undefined): readonly Json[] {
  const list = Array.isArray(icons) ? (icons as readonly Json[]) : [];
  return list.filter((one) => icon.safeParse(one).success).map((one) => withoutNulls(one));
}

const icon = z.object({
  src: z.string().regex(/^(?:https?:\/\/|data:image\/)/i),
  mimeType: z.string().nullish(),
  sizes: z.array(z.string()).nullish(),
  theme: z.enum(["light", "dark"]).nullish(),
});

const text = (field: string) => z.string(`Its \`${field}\` is no text.`).exactOptional();
const hint = (name: string) => z.boolean(`Its \`annotations.${name}\` is neither true nor false.`).exactOptional();

function jsonSchema(its: string) {
  return z.object(
    { $schema: z.string(`${its} has a \`$schema\` that is no text.`).exactOptional() },
    { error: ({ input }) => `${its} is ${input === undefined ? "missing" : "no JSON Schema object"}.` },
  );
}

const notNames = "Its `inputSchema` has a `required` that is not a list of names.";

/** Members in the order in which a server's author would correct them: the first problem is reported. */
const toolSchema = z.object(
  {
    name: z.string("It is listed without a `name`.").min(1, "It is listed without a `name`."),
    title: text("title"),
    description: text("description"),
    inputSchema: jsonSchema("Its `inputSchema`").extend({
      type: z.literal("object", "Its `inputSchema` does not say `type: object`."),
      properties: z.looseObject({}, "Its `inputSchema` has `properties` that are no object.").exactOptional(),
      required: z.array(z.string(notNames), notNames).exactOptional(),
    }),
    outputSchema: jsonSchema("Its `outputSchema`").exactOptional(),
    annotations: z
      .object(
        {
          title: text("annotations.title"),
          readOnlyHint: hint("readOnlyHint"),
          destructiveHint: hint("destructiveHint"),
          idempotentHint: hint("idempotentHint"),
          openWorldHint: hint("openWorldHint"),
        },
        "Its `annotations` are no object.",
      )
      .exactOptional(),
  },
  "It is listed as something that is not an object.",
);
