/** The tests that only `npm run test:whole` runs, listed once, so that no test runs twice in `.ci/run`. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Tests that kill processes, race with them, or start many engines. */
export const heavy: readonly string[] = [
  "test/race/*.test.ts",
  "test/**/*-killed.test.ts",
  "test/attacks/sandbox/*.test.ts",
  "test/stories/chain-cases/*.test.ts",
  "test/stories/runs-behind.test.ts",
  "test/stories/results-gigabyte.test.ts",
  "src/engines/remote/{firecracker,kubernetes}/*.test.ts",
  "src/engines/cpython/**/{cpython,pyodide}.test.ts",
  "src/engines/quickjs/{freeze,hostile}.test.ts",
];

const root = join(import.meta.dirname, "../..");
/** Helpers that read CORPORA for the tests that import them. */
export const readers: readonly string[] = [
  "test/fakes/engine-fixture.ts",
  "test/fakes/engine-cases.ts",
  "test/fakes/held-up.ts",
];
const markers = ['process.env["CORPORA"]', ...readers.map((file) => file.replace("test/", ""))];

/** `npm test` runs a part of these: of a collection, of the engines or of the rounds. Each test asks which it is. */
export const inPart: readonly string[] = [
  "test/stories/artifacts-model.test.ts",
  "test/stories/fluid-lists.test.ts",
  ...globSync("{src,test}/**/*.test.ts", { cwd: root }).filter((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return markers.some((marker) => text.includes(marker));
  }),
];
