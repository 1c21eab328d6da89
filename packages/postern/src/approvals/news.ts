import { commentedType, isJsonObject, type Json, momentNames, storedEventIn } from "@postern/core";
import type { StoreEntry } from "../store/store.ts";

/** The types of entries that end a request. */
const ends: ReadonlySet<string> = new Set(
  ["approved", "denied", "skipped", "modified", "expired", "withdrawn", "revoked"].map(
    (as) => `${momentNames.decided.audit}.${as}`,
  ),
);

export interface RequestNews {
  readonly id: string;
  readonly news: "asked" | "ended" | "commented";
}

/** What the entry of another process says about a request. An entry of this process has its event. */
export function newsOfOthers({ event, body }: StoreEntry): RequestNews | undefined {
  if (event !== undefined || !body.includes(`"type":"${momentNames.decided.audit}.`)) return undefined;
  const { type, refs, data } = storedEventIn(body) ?? {};
  if (type === commentedType) return commentedIn(data);
  const id = isJsonObject(refs) ? refs["approval"] : undefined;
  if (typeof id !== "string") return undefined;
  if (type === momentNames.held.audit) return { id, news: "asked" };
  return ends.has(String(type)) ? { id, news: "ended" } : undefined;
}

/** @param data of the event of a comment */
export function commentedIn(data: Json | undefined): RequestNews | undefined {
  const id = isJsonObject(data) ? data["approval_id"] : undefined;
  return typeof id === "string" ? { id, news: "commented" } : undefined;
}
