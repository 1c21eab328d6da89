/** `npm run test:system` tries all engines, all rounds and all rows of a collection; `npm test` tries a part of them. */
export const isWhole: boolean = process.env["TESTS"] === "system";

/** The engines for tests that both run: one for each language with `npm test`, and then the one that starts slowly. */
export const enginesInTurn: readonly string[] = isWhole ? ["pyodide"] : ["quickjs", "cpython"];
