import { messageOf } from "../core/fault.ts";
import { isJsonObject } from "../core/json.ts";
import { AnchorFile } from "./anchor-file.ts";

/**
 * Keeps heads of the log where whoever can write the store cannot: what it holds shows that the log was cut off,
 * rewritten, or continued by another.
 */
export interface Witness {
  /** Keeps a signed note. */
  put(note: string): Promise<void>;
  /** The note over the most entries that it was given; undefined when it has none. */
  latest(): Promise<string | undefined>;
}

/** Where heads are kept: a file on another disk, or an address that keeps what is PUT to it and gives it back to GET. */
export type WitnessSettings =
  | { readonly file: string }
  | {
      /** Another Postern: `https://HOST/v1/audit/heads/NAME`. */
      readonly url: string;
      /** Sent as `Authorization: Bearer TOKEN`; may be `secret://connector/key`. */
      readonly token?: string | undefined;
    };

/** @param reveal puts secrets where a text names them */
export function witnessFrom(settings: WitnessSettings, reveal: (text: string) => Promise<string>): Witness {
  return "file" in settings ? fileWitness(settings.file) : urlWitness(settings, reveal);
}

function fileWitness(path: string): Witness {
  const file = new AnchorFile(path);
  return {
    put: (note) => file.append(note),
    latest: async () => largest(await file.notes()),
  };
}

const patienceMs = 10_000;

function urlWitness(
  { url, token }: Extract<WitnessSettings, { readonly url: string }>,
  reveal: (text: string) => Promise<string>,
): Witness {
  const ask = async (method: "GET" | "PUT", body?: string): Promise<Response> => {
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${await reveal(token)}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const signal = AbortSignal.timeout(patienceMs);
    const answer = await fetch(url, {
      method,
      headers,
      signal,
      redirect: "error",
      ...(body !== undefined && { body }),
    });
    if (!answer.ok && !(method === "GET" && answer.status === 404))
      throw new Error(`The witness answers ${answer.status}.`);
    return answer;
  };
  return {
    put: async (note) => {
      await (await ask("PUT", JSON.stringify({ note }))).arrayBuffer();
    },
    latest: async () => {
      const answer = await ask("GET");
      if (answer.status === 404) return undefined;
      const kept: unknown = await answer.json();
      const note = isJsonObject(kept) ? kept["note"] : undefined;
      if (typeof note === "string") return note;
      throw new Error("The witness gives no `note`.");
    },
  };
}

export function sizeOf(note: string): number {
  const size = Number(note.split("\n")[1]);
  return Number.isSafeInteger(size) ? size : 0;
}

function largest(notes: readonly string[]): string | undefined {
  return notes.reduce<string | undefined>(
    (most, note) => (most === undefined || sizeOf(note) >= sizeOf(most) ? note : most),
    undefined,
  );
}

/** Reads what a witness holds; what fails is a problem of the witness, said in one sentence. */
export async function heldBy(
  witness: Witness,
): Promise<{ readonly note: string | undefined } | { readonly problem: string }> {
  try {
    return { note: await witness.latest() };
  } catch (error) {
    return { problem: `The witness of the audit log cannot be read: ${messageOf(error)}` };
  }
}
