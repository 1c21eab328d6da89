import type { JsonObject } from "../../core/json.ts";

export const path: JsonObject = { type: "string", description: "Path of the file, from its root." };
export const folderPath: JsonObject = {
  type: "string",
  description: "Path of the folder, from its root. Left out: all of the root that paths are in which name none.",
};

export function wholeNumber(minimum: number, maximum: number, description: string): JsonObject {
  return { type: "integer", minimum, maximum, description };
}

export function text(description: string): JsonObject {
  return { type: "string", description };
}

export function flag(description: string): JsonObject {
  return { type: "boolean", description };
}

export function input(properties: Readonly<Record<string, JsonObject>>, required: readonly string[]): JsonObject {
  return { type: "object", properties, required: [...required], additionalProperties: false };
}
