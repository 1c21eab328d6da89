import { join } from "node:path";
import { RuntimeFault } from "@postern/core";
import type { KeySource } from "../secrets/sealing-key.ts";
import type { SealedStore } from "../store/sealed-documents.ts";
import type { Runtime } from "./api/api.ts";
import type { RuntimeOptions } from "./options/options.ts";

type OpenSealedStore = () => Promise<SealedStore>;

const ofRuntimes = new WeakMap<Runtime, OpenSealedStore>();

/** Lets the sign-ins of the server be kept where those of the runtime are. */
export function offerSealedStore(runtime: Runtime, open: OpenSealedStore): void {
  ofRuntimes.set(runtime, open);
}

/** @throws RuntimeFault `secrets_key_invalid`, and `internal` for a runtime that is not Postern's own */
export async function sealedStoreOf(runtime: Runtime): Promise<SealedStore> {
  const open = ofRuntimes.get(runtime);
  if (open === undefined) throw new RuntimeFault("internal", "This runtime has no store of sign-ins.");
  return open();
}

/** Where the key is. Undefined if nothing of the sign-ins lasts. */
export function keySourceOf(
  { keyFile }: NonNullable<RuntimeOptions["connections"]>,
  folder: string | undefined,
): KeySource | undefined {
  const path = keyFile ?? (folder && join(folder, "secrets.key"));
  return path === undefined ? undefined : { keyFile: path, environment: process.env };
}

/** One attempt that succeeds; a failed one is made again. */
export function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}
