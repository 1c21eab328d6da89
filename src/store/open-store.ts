/** Which store a text names, and where its files lie. */
import { accessSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Clock } from "../core/clock.ts";
import { RuntimeFault } from "../core/fault.ts";
import { shown } from "../core/shown.ts";
import { whyUnreadable } from "../core/system/error-code.ts";
import { MemoryStore } from "./memory-store.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";
import type { SerializeEvent, Store } from "./store.ts";

/** What a store of your own is opened with: it keeps an event as `spell` spells it. */
export interface StoreContext {
  readonly clock: Clock;
  readonly spell: SerializeEvent;
  readonly log: (problem: string) => void;
}

/** Opens a store of your own, empty or as it was left. The runtime closes what it gets. */
export type OpenStore = (house: StoreContext) => Store | Promise<Store>;

/** Both name the same store: the second is what users of SQLite write. */
const inMemory: ReadonlySet<string> = new Set(["memory", "sqlite::memory:"]);

/** @throws RuntimeFault `store_unknown`, `store_folder_missing`, and what opening a file throws */
export async function openStore(store: string | Store | OpenStore, house: StoreContext): Promise<Store> {
  if (typeof store === "function") return ownStore(await store(house));
  if (typeof store !== "string") return store;
  if (inMemory.has(store)) return new MemoryStore(house);
  if (store.startsWith("sqlite:")) {
    const location = store.slice("sqlite:".length);
    checkFolder(dirname(resolve(location)), store);
    return openSqliteStore({ location, ...house });
  }
  throw new RuntimeFault("store_unknown", `\`${store}\` names no store; use "sqlite:FILE" or "memory".`);
}

function ownStore(store: Store): Store {
  if (isStore(store)) return store;
  throw new RuntimeFault("options_invalid", `What \`store\` opened is ${shown(store)}; it must be a store.`);
}

/** Of what code hands over one verb is looked at: the others are its type. */
export function isStore(value: unknown): value is Store {
  return typeof value === "object" && value !== null && "commit" in value && typeof value.commit === "function";
}

/**
 * A path mistyped or a disk that is not mounted: books begun there would know nothing of what was approved and done, and
 * let it be done again.
 */
function checkFolder(folder: string, store: string): void {
  try {
    accessSync(folder);
  } catch (error) {
    throw new RuntimeFault(
      "store_folder_missing",
      `\`${folder}\`, the folder of the store \`${store}\`, ${whyUnreadable(error)}. If it is the right one, make it: \`mkdir -p ${folder}\`; no store is begun in a folder nobody made.`,
    );
  }
}

/** What a file refers to must outlive the process as it does. */
export function folderBeside(store: string | Store | OpenStore | undefined): string | undefined {
  if (typeof store !== "string" || !store.startsWith("sqlite:") || inMemory.has(store)) return undefined;
  return `${store.slice("sqlite:".length)}-files`;
}
