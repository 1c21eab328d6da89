import { DatabaseSync } from "node:sqlite";
import { type ApprovalRecord, type CallRecord, messageOf, RuntimeFault } from "@postern/core";
import { artifactDigestsIn } from "../references.ts";
import type { Store } from "../store.ts";
import { Queries } from "./queries.ts";
import { checkOwner, currentSchema } from "./schema.ts";
import { Tables } from "./tables.ts";

export interface CopyRows {
  readonly calls: number;
  readonly approvals: number;
  /** Requests without a decision, expired ones included. */
  readonly waiting: number;
  readonly events: number;
  readonly documents: number;
}

/** A closed store in a file, opened for reading only: nothing beside it or in it is written. */
export class StoredCopy implements Disposable {
  readonly version: number;
  readonly log: Pick<Store, "events" | "documents">;
  readonly #database: DatabaseSync;
  readonly #queries: Queries;

  /** @throws RuntimeFault `store_foreign`, `store_newer`, `store_older` */
  constructor(file: string) {
    this.#database = new DatabaseSync(file, { readOnly: true });
    try {
      this.version = checkOwner(this.#database, file, currentSchema) ?? 0;
      this.#queries = new Queries(this.#database);
    } catch (error) {
      this.#database.close();
      if (error instanceof RuntimeFault) throw error;
      throw new RuntimeFault("store_foreign", `\`${file}\` is no store: ${messageOf(error)}.`, { cause: error });
    }
    const document = this.#database.prepare("select version, body from document where kind = ? and id = ?");
    this.log = {
      events: (where) => this.#queries.entries({ after: where.after, limit: where.limit ?? Infinity }),
      documents: {
        get: async (kind, id) => {
          const row = document.get(kind, id);
          return row && { version: Number(row["version"]), body: JSON.parse(String(row["body"])) };
        },
        list: (kind, prefix) => this.#queries.documents(kind, prefix),
      },
    };
  }

  /** What SQLite finds wrong in the file. Undefined: nothing. */
  damage(): string | undefined {
    const [found] = Object.values(this.#database.prepare("pragma integrity_check(1)").get() ?? {});
    return found === "ok" ? undefined : String(found);
  }

  rows(): CopyRows {
    const count = (sql: string): number => Number(this.#database.prepare(`select count(*) n from ${sql}`).get()?.["n"]);
    return {
      calls: count("call"),
      approvals: count("approval"),
      waiting: count("approval where state = 'pending'"),
      events: count("event"),
      documents: count("document"),
    };
  }

  /** By the id of its first arrival. */
  call(id: string): CallRecord | undefined {
    return new Tables(this.#database).callById(id);
  }

  *waiting(): Generator<{ readonly request: ApprovalRecord; readonly call: CallRecord | undefined }> {
    const tables = new Tables(this.#database);
    for (const { body } of this.#database.prepare("select body from approval where state = 'pending'").iterate()) {
      const request: ApprovalRecord = JSON.parse(String(body));
      yield { request, call: tables.callByKey(request.key) };
    }
  }

  /** The artifacts that a call or a request still needs at that time. */
  async neededArtifacts(now: number): Promise<ReadonlySet<string>> {
    const named = this.#database.prepare("select distinct digest from call_artifact").all();
    const needed = new Set(
      await this.#queries.needed(
        named.map(({ digest }) => String(digest)),
        now,
      ),
    );
    for (const { request } of this.waiting())
      for (const digest of artifactDigestsIn(JSON.stringify(request))) needed.add(digest);
    return needed;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
