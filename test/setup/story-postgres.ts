/** For stories on PostgreSQL: the fake clock waits for the database, and the schemas of a file are removed after it. */
import { afterAll, inject } from "vitest";
import { settling } from "../../packages/core/src/testing/clock.ts";
import { loadPg } from "../../packages/postern/src/store/postgres/load-pg.ts";
import { storySchemas } from "../fakes/story-store.ts";

type Run = (this: unknown, ...given: unknown[]) => unknown;

/** Connections that are opened, and queries without an answer. */
let unanswered = 0;

/** The last argument is called with the answer if it is a function; else a promise has it. */
function counted(run: Run): Run {
  return function (...given) {
    unanswered += 1;
    const answered = (): void => {
      unanswered -= 1;
    };
    const callback = given.at(-1);
    if (typeof callback === "function") {
      given[given.length - 1] = (...answer: unknown[]) => {
        answered();
        callback(...answer);
      };
      return run.apply(this, given);
    }
    const answer = run.apply(this, given);
    Promise.resolve(answer).then(answered, answered);
    return answer;
  };
}

const { Client } = await loadPg();
const { prototype } = Client as unknown as { prototype: Record<"query" | "connect", Run> };
const isCounted = Symbol.for("postern test: queries are counted");
if (!Object.hasOwn(prototype, isCounted)) {
  Object.assign(prototype, { [isCounted]: true, query: counted(prototype.query), connect: counted(prototype.connect) });
  settling.isBusy = () => unanswered > 0;
}

afterAll(async () => {
  const client = new Client(inject("storiesPostgres"));
  await client.connect();
  const { rows } = await client.query("select nspname from pg_namespace where starts_with(nspname, $1)", [
    storySchemas,
  ]);
  for (const { nspname } of rows) await client.query(`drop schema ${nspname} cascade`);
  await client.end();
});
