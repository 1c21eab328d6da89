/**
 * Reads an OpenAPI document on a worker thread of its own: the text is untrusted, and a large one would stop every other call.
 * The worker runs this same file.
 */
import { open } from "node:fs/promises";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { isRecord, messageOf, RuntimeFault } from "@postern/core";
import { sourceOptions } from "@postern/core/system";
import type { ApiClient } from "./api-client.ts";
import { parseDocument, Unusable } from "./document.ts";
import { apiOf, type OpenApi, type ReadSetting } from "./operations.ts";

/** The largest public documents have about 12 MB. */
export const mostDocumentBytes: number = 16 * 1024 * 1024;
const role = "reads an OpenAPI document";

/** A path, or an address. */
export type DocumentPlace = string | URL;

/** @throws RuntimeFault `options_invalid` */
export async function documentText(place: DocumentPlace, client: ApiClient, signal: AbortSignal): Promise<string> {
  const bytes = typeof place === "string" ? await fileBytes(place) : await addressBytes(place, client, signal);
  if (bytes === undefined)
    throw invalid(
      `it has more than ${mostDocumentBytes} bytes, the most that is read; give a document with fewer operations.`,
    );
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalid("it is not UTF-8 text.", error);
  }
}

async function fileBytes(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path);
    const found = await file.stat();
    if (!found.isFile()) throw new Error("it is not a file");
    if (found.size > mostDocumentBytes) return undefined;
    return await file.readFile();
  } catch (error) {
    throw invalid(`\`${path}\`: ${messageOf(error)}.`, error);
  }
}

async function addressBytes(url: URL, client: ApiClient, signal: AbortSignal): Promise<Buffer | undefined> {
  const headers = new Headers({ accept: "application/json, application/yaml, */*;q=0.5", "user-agent": "postern" });
  const {
    status,
    body,
    headers: answered,
  } = await client.send({ method: "GET", url, headers }, { signal, limitBytes: mostDocumentBytes });
  if (status === 200) return body;
  const to = status < 400 ? URL.parse(answered.get("location") ?? "", url.href)?.origin : undefined;
  const redirect = to === undefined ? "" : ` It redirects to \`${to}\`; name the document's address there`;
  throw invalid(`\`${url.host}\` answered HTTP ${status}.${redirect}`);
}

function invalid(why: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault("options_invalid", `The OpenAPI document cannot be read: ${why}`, { cause });
}

interface ReadJob {
  readonly role: typeof role;
  readonly text: string;
  readonly setting: ReadSetting;
}

type DocumentResult = { readonly api: OpenApi } | { readonly why: string };

/**
 * What the document offers.
 *
 * @param signal ends the worker
 * @throws RuntimeFault `options_invalid` that says what is wrong with the document
 */
export async function readApi(text: string, setting: ReadSetting, signal: AbortSignal): Promise<OpenApi> {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { role, text, setting } satisfies ReadJob,
    env: {},
    execArgv: [...sourceOptions],
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  const { promise, resolve, reject } = Promise.withResolvers<DocumentResult>();
  const onAbort = (): void => reject(signal.reason);
  worker.once("message", resolve);
  worker.once("error", (error) => reject(invalid(messageOf(error), error)));
  worker.once("exit", () => reject(invalid("the thread that read it ended.")));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const result = await promise;
    if ("api" in result) return result.api;
    throw invalid(result.why);
  } finally {
    signal.removeEventListener("abort", onAbort);
    await worker.terminate();
  }
}

async function answer({ text, setting }: ReadJob): Promise<DocumentResult> {
  try {
    return { api: apiOf(await parseDocument(text), setting) };
  } catch (error) {
    if (error instanceof Unusable) return { why: error.message };
    return { why: error instanceof RangeError ? "it is nested too deeply." : messageOf(error) };
  }
}

function isJob(value: unknown): value is ReadJob {
  return isRecord(value) && value["role"] === role;
}

if (isJob(workerData)) parentPort?.postMessage(await answer(workerData));
