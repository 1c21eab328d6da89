import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "@postern/core";
import { Collection } from "../store/collection.ts";
import { type SealedStore, sealedDocuments } from "../store/sealed-documents.ts";
import { type ConnectionOwner, nameOf } from "./connection-repository.ts";
import type { ConnectionPerson } from "./connections.ts";
import type { SignInProgress } from "./sign-in.ts";

const patienceMs = 10 * 60_000;

/** A sign-in that has not come back. */
interface PendingServerSignIn {
  readonly server: string;
  /** Digest of the server's address. */
  readonly address: string;
  readonly person: ConnectionPerson;
  readonly progress: SignInProgress;
  readonly binder: string;
  /** Wall clock, milliseconds; exclusive. */
  readonly until: number;
}

/**
 * Sign-ins at servers that have not come back, sealed in the store: the browser may come back to another Postern. An owner has
 * one at each server, the last one, so there are never more than connections.
 */
export class PendingSignIns {
  readonly #pending: Collection<PendingServerSignIn | undefined>;
  readonly #clock: Clock;

  constructor(sealed: SealedStore, { clock, log }: { readonly clock: Clock; readonly log: (problem: string) => void }) {
    this.#pending = new Collection(sealedDocuments<PendingServerSignIn>(sealed, { kind: "connection_sign_in", log }));
    this.#clock = clock;
  }

  /** Resolves to what the browser must bring back. It names the document, and proves that it is the same browser. */
  async add(owner: ConnectionOwner, begun: Omit<PendingServerSignIn, "binder" | "until">): Promise<string> {
    await this.#removeOld();
    const id = nameOf(begun.server, owner);
    const binder = `${Buffer.from(id).toString("base64url")}.${randomBytes(32).toString("base64url")}`;
    const item = { ...begun, binder, until: this.#clock.now() + patienceMs };
    await this.#pending.change(id, () => ({ item }));
    return binder;
  }

  /** Used up now, also if a later step fails: what is sent again finds nothing. Another browser does not use it up. */
  async take(state: string, binder: string): Promise<PendingServerSignIn | undefined> {
    const [coded = ""] = binder.split(".");
    const id = Buffer.from(coded, "base64url").toString();
    const begun = await this.#pending.get(id);
    if (begun === undefined || !isSame(begun.binder, binder) || !isSame(begun.progress.state, state)) return undefined;
    const { changed } = await this.#pending.change(id, (now) =>
      now?.binder === binder ? { item: undefined, durability: "synced" } : undefined,
    );
    return changed && begun.until > this.#clock.now() ? begun : undefined;
  }

  async remove(server: string, owner: ConnectionOwner): Promise<void> {
    await this.#pending.change(nameOf(server, owner), (begun) => begun && { item: undefined });
  }

  async #removeOld(): Promise<void> {
    for (const id of await this.#pending.ids())
      await this.#pending.change(id, (begun) =>
        begun !== undefined && begun.until > this.#clock.now() ? undefined : { item: undefined },
      );
  }
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
