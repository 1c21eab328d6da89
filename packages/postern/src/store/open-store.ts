/** Opens the store that a text names, and finds the folder of its files. */
import { accessSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Clock, RuntimeFault, shown } from "@postern/core";
import { whyUnreadable } from "@postern/core/system";
import { MemoryStore } from "./memory-store.ts";
import { isPostgresAddress } from "./postgres/address.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";
import type { SerializeEvent, Store } from "./store.ts";

/** What a store of your own is opened with. `serialize` makes the text of an event that the store keeps. */
export interface StoreContext {
  readonly clock: Clock;
  readonly serialize: SerializeEvent;
  readonly log: (problem: string) => void;
}

/** Opens a store of your own, empty or with its earlier content. The runtime closes it. */
export type OpenStore = (context: StoreContext) => Store | Promise<Store>;

/** Both name the same store: the second is what users of SQLite write. */
const inMemory: ReadonlySet<string> = new Set(["memory", "sqlite::memory:"]);

/** @throws RuntimeFault `options_invalid`, `store_unopenable`, and what opening a file throws */
export async function openStore(store: string | Store | OpenStore, context: StoreContext): Promise<Store> {
  if (typeof store === "function") return ownStore(await store(context));
  if (typeof store !== "string") return store;
  if (inMemory.has(store)) return new MemoryStore(context);
  if (store.startsWith("sqlite:")) {
    const location = store.slice("sqlite:".length);
    checkFolder(dirname(resolve(location)), store);
    return openSqliteStore({ location, ...context });
  }
  if (isPostgresAddress(store)) {
    const { openPostgresStore } = await import("./postgres/postgres-store.ts");
    return openPostgresStore({ url: store, ...context });
  }
  throw new RuntimeFault(
    "options_invalid",
    `\`${store}\` names no store; use "sqlite:FILE", "postgres://…" or "memory".`,
  );
}

function ownStore(store: Store): Store {
  if (isStore(store)) return store;
  throw new RuntimeFault("options_invalid", `\`store\` opened ${shown(store)}; it must open a store.`);
}

/** Checks one method only; the type checks the others. */
export function isStore(value: unknown): value is Store {
  return typeof value === "object" && value !== null && "commit" in value && typeof value.commit === "function";
}

/** A mistyped path or an unmounted disk is refused: a new store would not know what was approved and done, and would let it be done again. */
function checkFolder(folder: string, store: string): void {
  try {
    accessSync(folder);
  } catch (error) {
    throw new RuntimeFault(
      "store_unopenable",
      `\`${folder}\`, the folder of the store \`${store}\`, ${whyUnreadable(error)}. If it is the right one, make it with \`mkdir -p ${folder}\`: a store is not opened in a folder that is missing.`,
    );
  }
}

/** The folder for artifacts of a store in a file: they must outlive the process as the store does. */
export function folderBeside(store: string | Store | OpenStore | undefined): string | undefined {
  if (typeof store !== "string" || !store.startsWith("sqlite:") || inMemory.has(store)) return undefined;
  return `${store.slice("sqlite:".length)}-files`;
}
