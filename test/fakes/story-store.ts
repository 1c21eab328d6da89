/**
 * Where a story keeps its rows: in memory, in a file, or in PostgreSQL. `npm run test:system` runs the stories that
 * test/setup/groups.ts lists as `onPostgres` once more with `POSTERN_TEST_STORE=postgres`: each store is a schema then.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { inject } from "vitest";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ownFolder } from "./own-folder.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly storiesPostgres: string;
  }
}

/** Stories run on PostgreSQL now. */
export const isPostgres: boolean = process.env["POSTERN_TEST_STORE"] === "postgres";

export const storeKinds: readonly ("memory" | "sqlite" | "postgres")[] = isPostgres
  ? ["postgres"]
  : ["memory", "sqlite"];

/** A new, empty store. */
export function newStore(kind: (typeof storeKinds)[number]): NonNullable<RuntimeOptions["store"]> {
  if (kind === "postgres" || isPostgres) return inSchema(crypto.randomUUID());
  return kind === "memory" ? kind : `sqlite:${join(ownFolder(), "postern.db")}`;
}

/** The store in this file with its folder, empty or as a runtime before left it. */
export function storeIn(file: string): Pick<RuntimeOptions, "folder" | "store"> {
  return isPostgres ? { store: inSchema(file), folder: `${file}-files` } : { store: `sqlite:${file}` };
}

/** Schemas of this process: test/setup/story-postgres.ts removes them. */
export const storySchemas: string = `story_${process.pid}_`;

function inSchema(name: string): NonNullable<RuntimeOptions["store"]> {
  const schema = `${storySchemas}${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
  const url = `${inject("storiesPostgres")}?schema=${schema}`;
  return async (context) => {
    const { openPostgresStore } = await import("../../packages/postern/src/store/postgres/postgres-store.ts");
    return openPostgresStore({ ...context, url, time: "clock" });
  };
}
