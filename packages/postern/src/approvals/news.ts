import { isJsonObject, momentNames, storedEventIn } from "@postern/core";
import type { StoreEntry } from "../store/store.ts";

/** The types of entries that end a request. */
const ends: ReadonlySet<string> = new Set(
  ["approved", "denied", "skipped", "modified", "expired", "withdrawn", "revoked"].map(
    (as) => `${momentNames.decided.audit}.${as}`,
  ),
);

export interface RequestNews {
  readonly id: string;
  readonly news: "asked" | "ended";
}

/** What the entry of another process says about a request. An entry of this process has its event. */
export function newsOfOthers({ event, body }: StoreEntry): RequestNews | undefined {
  if (event !== undefined || !body.includes(`"type":"${momentNames.decided.audit}.`)) return undefined;
  const { type, refs } = storedEventIn(body) ?? {};
  const id = isJsonObject(refs) ? refs["approval"] : undefined;
  if (typeof id !== "string") return undefined;
  if (type === momentNames.held.audit) return { id, news: "asked" };
  return ends.has(String(type)) ? { id, news: "ended" } : undefined;
}
