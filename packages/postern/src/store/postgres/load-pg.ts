import { RuntimeFault } from "@postern/core";

/** The package `pg`, once it is loaded. */
export type Pg = Pick<typeof import("pg"), "Client" | "Pool">;

/**
 * Loads the package, which is installed only where a PostgreSQL store is used.
 *
 * @throws RuntimeFault `dependency_missing`
 */
export async function loadPg(): Promise<Pg> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    const message = "A store in PostgreSQL needs the package `pg`: run `npm install pg`, beside `postern`.";
    throw new RuntimeFault("dependency_missing", message, { cause });
  }
}
