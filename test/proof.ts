/** `npm run proof -- NAME [options]`: tries to make Postern break one of its promises. Exits with 1 if it does. */
import { sourcesInProcesses } from "./setup/sources.ts";

const proofs: Readonly<Record<string, string>> = {
  backup: "backup/run.ts", // a backup under load holds all that was answered before
  canary: "canary/run.ts", // no secret leaves
  crash: "crash/main.ts", // no effect happens twice over killed processes
  "double-resume": "agents/double-resume/run.ts", // one approval, one execution, in agent libraries
  driver: "driver/run.ts", // an engine does what every engine must do
  matrix: "matrix/run.ts", // Python engines behave like Python
  race: "race/files.ts", // file tools stay below their root while links are swapped
  skills: "attacks/skills/corpus.ts", // published skills are loaded, or refused with a reason
};

const [name = ""] = process.argv.splice(2, 1);
const program = Object.hasOwn(proofs, name) ? proofs[name] : undefined;
Object.assign(process.env, sourcesInProcesses);

if (program === undefined) {
  process.stderr.write(`Name one of ${Object.keys(proofs).join(", ")}: \`npm run proof -- NAME\`.\n`);
  process.exitCode = 2;
} else await import(`./${program}`);
