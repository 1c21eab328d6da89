import { randomBytes, timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { newId } from "@postern/core";
import { sha256 } from "@postern/core/system";
import { type Collection, untilWon } from "../store/collection.ts";
import type { AccountNote, AccountNotes } from "./account-notes.ts";
import type { Account, LiveSession, SignedIn } from "./accounts.ts";

/**
 * When a session ends.
 *
 * @public
 */
export interface SessionLimits {
  /** A session ends when it is unused for this time. */
  readonly idleMs: number;
  /** A session ends after this time, even when it is used. */
  readonly absoluteMs: number;
}

export const defaultSessionLimits: SessionLimits = { idleMs: 12 * 3_600_000, absoluteMs: 7 * 86_400_000 };

/** A stored session: hashes of its secrets, never the secrets. */
interface SessionRecord {
  readonly id: string;
  readonly name: string;
  readonly epoch: number;
  /** Hash of the proof that the page keeps. The cookie is refused without it. Missing in old sessions, which have ended. */
  readonly proof?: string;
  readonly secret: string;
  /** The secret that was sent to the browser and has not come back. Until it does, the present one stays valid. */
  readonly next?: string;
  readonly nextAt?: number;
  /** The secret that was just replaced. Requests on their way still carry it. */
  readonly last?: string;
  readonly lastUntil?: number;
  readonly createdAt: number;
  readonly rotatedAt: number;
  readonly seenAt: number;
  readonly ended?: true;
}

/** The secret that a cookie has. */
type CookieSecret = "secret" | "next" | "last";

interface Cookie {
  readonly place: string;
  readonly hash: string;
}

export interface KnownSession {
  readonly name: string;
  readonly epoch: number;
  readonly session: LiveSession;
  readonly cookie?: string;
}

/**
 * Sessions of one person at a time; a new one replaces the one that was unused for longest. Documents are never
 * removed, so places are used again.
 */
const places = 10;
const rotateAfterMs = 15 * 60_000;
const overlapMs = 60_000;
const seenEveryMs = 60_000;

/**
 * Sessions of browsers. A browser sends the cookie to every port of the host, so the cookie alone proves nothing. A
 * second secret, the proof, is sent once when the session begins; the page keeps it and sends it with each request.
 * The cookie is `PLACE.SECRET`. The secret is replaced from time to time, and the earlier one ends a minute after the
 * new one was used, so a stolen cookie does not stay valid beside its owner's.
 */
export class SessionRepository {
  readonly #notes: AccountNotes;
  readonly #sessions: Collection<SessionRecord>;
  readonly #limits: SessionLimits;

  constructor(notes: AccountNotes, limits: SessionLimits = defaultSessionLimits) {
    this.#notes = notes;
    this.#sessions = notes.collection("session");
    this.#limits = limits;
  }

  async begin(
    account: Account,
    epoch: number,
    note: AccountNote,
  ): Promise<Pick<SignedIn, "session" | "cookie" | "csrf">> {
    return untilWon(`The sessions of \`${account.name}\` are`, async () => {
      const now = this.#notes.now;
      const { place, before } = await this.#freePlace(account, epoch);
      const [secret, csrf] = [fresh(), fresh()];
      const record: SessionRecord = {
        id: newId("ses"),
        name: account.name,
        epoch,
        proof: sha256(csrf),
        secret: sha256(secret),
        createdAt: now,
        rotatedAt: now,
        seenAt: now,
      };
      const sessionNote: AccountNote = { ...note, data: { ...note.data, session: record.id } };
      const { changed } = await this.#notes.change(this.#sessions, place, (found) =>
        isDeepStrictEqual(found, before) ? { item: record, note: sessionNote } : undefined,
      );
      return changed ? { session: this.#live(record), cookie: `${place}.${secret}`, csrf } : undefined;
    });
  }

  /**
   * Returns undefined when it is wrong or has ended. The caller checks the account. A cookie without its proof changes
   * nothing: it does not keep the session alive and gets no next cookie.
   */
  async find(cookie: string, csrf: string): Promise<KnownSession | undefined> {
    const { place, hash } = cookieFrom(cookie) ?? {};
    if (place === undefined || hash === undefined) return undefined;
    const record = await this.#sessions.get(place);
    const which = record && this.#secretOf(record, hash);
    if (record === undefined || which === undefined || !isSame(sha256(csrf), record.proof ?? "")) return undefined;
    const moved = this.#dueChange(record, which);
    const known = { name: record.name, epoch: record.epoch, session: this.#live(record) };
    if (moved === undefined) return known;
    const { changed } = await this.#sessions.change(place, (found) =>
      isDeepStrictEqual(found, record) ? { item: moved.record } : undefined,
    );
    return changed && moved.secret !== undefined ? { ...known, cookie: `${place}.${moved.secret}` } : known;
  }

  /** Returns the session that had this cookie. Ending it needs no proof. */
  async end(cookie: string, note: (name: string) => Promise<AccountNote>): Promise<string | undefined> {
    const { place, hash } = cookieFrom(cookie) ?? {};
    if (place === undefined || hash === undefined) return undefined;
    const { changed, item } = await this.#notes.change(this.#sessions, place, async (record) => {
      if (record === undefined || this.#secretOf(record, hash) === undefined) return undefined;
      const sessionNote = { ...(await note(record.name)), data: { session: record.id } };
      return { item: { ...record, ended: true as const }, note: sessionNote };
    });
    return changed ? item.id : undefined;
  }

  /** The due change: the new secret was used, a new one is due, or the last use was not written for a while. */
  #dueChange(
    record: SessionRecord,
    which: CookieSecret,
  ): { readonly record: SessionRecord; readonly secret?: string } | undefined {
    const now = this.#notes.now;
    if (which === "next" && record.next !== undefined) {
      const { next, nextAt: _at, ...rest } = record;
      const last = { last: record.secret, lastUntil: now + overlapMs };
      return { record: { ...rest, ...last, secret: next, rotatedAt: now, seenAt: now } };
    }
    const isDue = now - record.rotatedAt >= rotateAfterMs && now - (record.nextAt ?? 0) >= overlapMs;
    if (which === "secret" && isDue) {
      const secret = fresh();
      return { record: { ...record, next: sha256(secret), nextAt: now, seenAt: now }, secret };
    }
    return now - record.seenAt >= seenEveryMs ? { record: { ...record, seenAt: now } } : undefined;
  }

  /** Returns undefined if the cookie has none of them, or the session has ended. */
  #secretOf(record: SessionRecord, hash: string): CookieSecret | undefined {
    if (!this.#isAlive(record)) return undefined;
    if (isSame(hash, record.secret)) return "secret";
    if (record.next !== undefined && isSame(hash, record.next)) return "next";
    const isRecent = (record.lastUntil ?? 0) > this.#notes.now;
    return isRecent && record.last !== undefined && isSame(hash, record.last) ? "last" : undefined;
  }

  #isAlive({ ended, createdAt, seenAt }: SessionRecord): boolean {
    const now = this.#notes.now;
    const { idleMs, absoluteMs } = this.#limits;
    return ended !== true && now - seenAt < idleMs && now - createdAt < absoluteMs;
  }

  #live({ id, createdAt }: SessionRecord): LiveSession {
    return { id, expiresAt: createdAt + this.#limits.absoluteMs };
  }

  async #freePlace(
    { id }: Account,
    epoch: number,
  ): Promise<{ readonly place: string; readonly before: SessionRecord | undefined }> {
    const all = await Promise.all(
      Array.from({ length: places }, async (_, at) => {
        const place = `${id}-${at}`;
        const before = await this.#sessions.get(place);
        const isTaken = before !== undefined && before.epoch === epoch && this.#isAlive(before);
        return { place, before, seenAt: isTaken ? before.seenAt : 0 };
      }),
    );
    return all.reduce((best, one) => (one.seenAt < best.seenAt ? one : best));
  }
}

/** Returns undefined for a text that is not a session cookie. */
function cookieFrom(text: string): Cookie | undefined {
  const [place = "", secret = "", ...more] = text.split(".");
  const isOurs = more.length === 0 && /^usr_[\w-]{1,64}-\d$/.test(place) && secret.length === 43;
  return isOurs ? { place, hash: sha256(secret) } : undefined;
}

function fresh(): string {
  return randomBytes(32).toString("base64url");
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
