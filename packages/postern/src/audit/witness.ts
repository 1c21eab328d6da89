import { isJsonObject } from "@postern/core";
import { AnchorFile, sizeOf } from "./anchor-file.ts";

/**
 * Stores heads of the log where someone who can write the store cannot. They show that the log was cut off, rewritten, or
 * continued by another writer.
 */
export interface Witness {
  /** Stores a signed note. */
  put(note: string): Promise<void>;
  /** The note over the most entries. Returns undefined if there is none. */
  latest(): Promise<string | undefined>;
}

/** Where heads are stored: a file on another disk, or an address that answers GET with the note that was PUT there. */
export type WitnessSettings =
  | { readonly file: string }
  | {
      /** Another Postern: `https://HOST/v1/audit/heads/NAME`. */
      readonly url: string;
      /** Sent as `Authorization: Bearer TOKEN`; may be `secret://connector/key`. */
      readonly token?: string | undefined;
    };

/** @param reveal replaces references to secrets by their values */
export function witnessFrom(settings: WitnessSettings, reveal: (text: string) => Promise<string>): Witness {
  return "file" in settings ? fileWitness(settings.file) : urlWitness(settings, reveal);
}

function fileWitness(path: string): Witness {
  const file = new AnchorFile(path);
  return {
    put: async (note) => void (await file.append([note])),
    latest: async () => (await file.notes()).toSorted((one, other) => sizeOf(one) - sizeOf(other)).at(-1),
  };
}

const timeoutMs = 10_000;

function urlWitness(
  { url, token }: Extract<WitnessSettings, { readonly url: string }>,
  reveal: (text: string) => Promise<string>,
): Witness {
  const send = async (method: "GET" | "PUT", body?: string): Promise<Response> => {
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${await reveal(token)}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const signal = AbortSignal.timeout(timeoutMs);
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
      await (await send("PUT", JSON.stringify({ note }))).arrayBuffer();
    },
    latest: async () => {
      const answer = await send("GET");
      if (answer.status === 404) return undefined;
      const body: unknown = await answer.json();
      const note = isJsonObject(body) ? body["note"] : undefined;
      if (typeof note === "string") return note;
      throw new Error("The witness gives no `note`.");
    },
  };
}
