import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { makeNamed } from "../named-files.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { visibleLines } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";

export interface ArtifactFlags extends GlobalFlags {
  readonly agent?: string;
  readonly user?: string;
}

/** Prints an artifact, or writes it to a file that is not there yet. */
export async function getArtifact(
  host: Host,
  { digest, file }: { readonly digest: string; readonly file: string | undefined },
  flags: ArtifactFlags,
): Promise<ExitCode> {
  if (!/^[0-9a-f]{64}$/.test(digest))
    throw new UsageProblem(`\`${digest.slice(0, 80)}\` is no digest of an artifact; it has 64 hex digits.`);
  const { agent, user } = flags;
  if (user !== undefined && agent === undefined) throw new UsageProblem("`--user` needs `--agent`: whose user it is.");
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const whose = agent === undefined ? work.agent : work.operator;
    const bytes = whose.artifacts.read({ digest, agent, user });
    if (file === undefined) await print(work, bytes);
    else await save(work, bytes, file);
    return exitCodes.ok;
  });
}

async function save(work: Work, bytes: AsyncIterable<Uint8Array>, file: string): Promise<void> {
  await (await makeNamed(file)).close();
  try {
    await pipeline(Readable.from(bytes), createWriteStream(file, { flags: "w", mode: 0o600 }));
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  if (work.json) printJson(work, { file });
  else work.terminal.out(`Written to ${file}.\n`);
}

/** A pipe gets the bytes as they are, a screen only text. */
async function print({ terminal }: Work, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for await (const chunk of bytes) {
    if (!terminal.screen) terminal.out(chunk);
    else terminal.out(visibleLines(decoded(decoder, chunk)).join("\n"));
  }
  if (terminal.screen) terminal.out("\n");
}

function decoded(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true });
  } catch (error) {
    throw new UsageProblem("The artifact is no text; name a FILE to write it to.", { cause: error });
  }
}
