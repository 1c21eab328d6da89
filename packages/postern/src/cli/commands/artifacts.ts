import { artifacts } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { flagsOf } from "../flags.ts";
import { writeNamed } from "../named-files.ts";
import { print, type Work, withPostern } from "../output/print.ts";
import { visibleLines } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";

export function commands(group: CommandGroup): void {
  group.run("get <digest> [file]", "print an artifact of your own agent token, or write it to a file", {
    words: { "<digest>": "as an outcome names it", "[file]": "standard output if left out" },
    flags: flagsOf(artifacts.read.query, {
      agent: { value: "name", help: "whose it is, as the operator" },
      user: { value: "name", help: "of which user of that agent" },
    }),
    run: async ({ sent: { file, ...named }, ...typed }) => {
      const { digest, agent, user } = named;
      if (!/^[0-9a-f]{64}$/.test(digest))
        throw new UsageProblem(`\`${digest.slice(0, 80)}\` is no digest of an artifact; it has 64 hex digits.`);
      if (user !== undefined && agent === undefined)
        throw new UsageProblem("`--user` needs `--agent`: whose user it is.");
      return withPostern(typed, {}, async (work) => {
        const bytes = (agent === undefined ? work.agent : work.operator).artifacts.read(named);
        if (file === undefined) await printBytes(work, bytes);
        else {
          await writeNamed(file, bytes);
          print(work, { file }, `Written to ${file}.\n`);
        }
        return exitCodes.ok;
      });
    },
  });
}

/** A pipe gets the bytes as they are, a screen only text. */
async function printBytes({ terminal }: Work, bytes: AsyncIterable<Uint8Array>): Promise<void> {
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
