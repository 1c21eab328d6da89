/** Which store a text names, and where its files lie. */
import type { Clock } from "./calls/clock.ts";
import { RuntimeFault } from "./calls/fault.ts";
import { MapStore } from "./stores/map-store.ts";
import { openSqliteStore } from "./stores/sqlite/sqlite-store.ts";
import type { Spell, Store } from "./stores/store.ts";

/** @throws RuntimeFault `store_unknown` */
export async function openStore(
  store: string | Store,
  clock: Clock,
  spell: Spell,
  log: (problem: string) => void,
): Promise<Store> {
  if (typeof store !== "string") return store;
  if (store === "memory") return new MapStore({ clock, spell });
  if (store.startsWith("sqlite:"))
    return openSqliteStore({ location: store.slice("sqlite:".length), clock, spell, log });
  throw new RuntimeFault(
    "store_unknown",
    `\`${store}\` names no store; use "sqlite:FILE", "sqlite::memory:" or "memory".`,
  );
}

/** What a file refers to must outlive the process as it does. */
export function folderBeside(store: string | Store | undefined): string | undefined {
  if (typeof store !== "string" || !store.startsWith("sqlite:") || store === "sqlite::memory:") return undefined;
  return `${store.slice("sqlite:".length)}-files`;
}
