import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { RuntimeFault } from "@postern/core";

/** A stored password hash with its parameters, so that they can be raised later. */
export interface PasswordHash {
  readonly scheme: "scrypt";
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  readonly salt: string;
  readonly hash: string;
}

/**
 * Parameters of scrypt.
 *
 * @public
 */
export interface PasswordCost {
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
}

/** 32 MiB and about 0.2 s: one of the equivalents that OWASP names. */
export const defaultCost: PasswordCost = { cost: 2 ** 15, blockSize: 8, parallel: 3 };

const keyBytes = 32;
const shortest = 12;
/** In characters, each of at most two UTF-16 units. */
const longest = 256;
/** Each check takes a thread and its memory, so more checks wait. */
const atOnce = 2;
const mostWaiting = 64;

export class Passwords {
  readonly #cost: PasswordCost;
  /** Verified against when the name is unknown, so that it takes as long as a wrong password. */
  readonly #unknownName: PasswordHash;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(cost: PasswordCost = defaultCost) {
    this.#cost = cost;
    this.#unknownName = { scheme: "scrypt", ...cost, salt: fresh(16), hash: fresh(keyBytes) };
  }

  /** Whether too many already wait. */
  get isBusy(): boolean {
    return this.#waiting.length >= mostWaiting;
  }

  async make(password: string): Promise<PasswordHash> {
    const salt = fresh(16);
    const key = await this.#derive(password, salt, this.#cost);
    return { scheme: "scrypt", ...this.#cost, salt, hash: key.toString("base64url") };
  }

  /** Takes the same time whether there is a password or not, and compares in constant time. */
  async verify(password: string, kept: PasswordHash | undefined): Promise<boolean> {
    const against = kept ?? this.#unknownName;
    const key = await this.#derive(password.slice(0, 2 * longest + 1), against.salt, against);
    const isRight = timingSafeEqual(key, Buffer.from(against.hash, "base64url"));
    return isRight && kept !== undefined;
  }

  /** Whether it was made with lower parameters than today's. It is made again when the password is next entered. */
  isWeak({ cost, blockSize, parallel }: PasswordHash): boolean {
    return cost * blockSize * parallel < this.#cost.cost * this.#cost.blockSize * this.#cost.parallel;
  }

  async #derive(password: string, salt: string, { cost, blockSize, parallel }: PasswordCost): Promise<Buffer> {
    await this.#turn();
    try {
      const options = { N: cost, r: blockSize, p: parallel, maxmem: 256 * (cost + parallel) * blockSize + 65_536 };
      return await new Promise<Buffer>((resolve, reject) => {
        scrypt(password.normalize("NFC"), Buffer.from(salt, "base64url"), keyBytes, options, (error, key) =>
          error === null ? resolve(key) : reject(error),
        );
      });
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #turn(): Promise<void> {
    while (this.#running >= atOnce) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#running += 1;
  }
}

/** @throws RuntimeFault `request_invalid`; the message never contains the password */
export function checkPassword(password: string, name: string): void {
  const length = [...password].length;
  if (length < shortest || length > longest)
    throw refused(`A password has ${shortest} to ${longest} characters; this one has ${length}.`);
  if (new Set(password).size < 5)
    throw refused("This password repeats fewer than 5 different characters; take another.");
  if (password.toLowerCase().includes(name.toLowerCase()))
    throw refused("This password holds the login name; take another.");
}

function refused(message: string): RuntimeFault {
  return new RuntimeFault("request_invalid", message);
}

function fresh(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}
