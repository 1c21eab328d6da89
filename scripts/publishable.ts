import { readFileSync } from "node:fs";

/** npm's page of a package leads the README's links to its repository: without one every link there is dead. */
const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
if (typeof manifest !== "object" || manifest === null || !("repository" in manifest)) {
  process.stderr.write("`repository` is missing in package.json: npm's page needs it for the links of README.md.\n");
  process.exitCode = 1;
}
