import { defineConfig } from "vitest/config";
import { compileCache } from "./test/setup/compile-cache.ts";

/** What kills processes and races with them, starts engines by the dozen, and the corpora in whole: `npm run test:whole`. */
const whole = process.env["CORPORA"] === "whole";
const heavy = [
  "test/race/**",
  "test/**/*-killed.test.ts",
  "test/attacks/sandbox/**",
  "test/stories/{chain-cases/**,runs-behind.test.ts}",
  "src/chains/drivers/{runsc,firecracker,kubernetes}/**",
  "src/chains/drivers/{python/{cpython,pyodide},javascript/{freeze,hostile}}.test.ts",
];

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/crash/**", "test/load/**", "node_modules/**", ...(whole ? [] : heavy)],
    env: compileCache,
    globalSetup: ["test/setup/temporary.ts"],
    setupFiles: ["test/setup/own-folders.ts"],
    testTimeout: 20_000,
    maxWorkers: 2, // half of the tests wait for processes of their own; the default leaves a core of two idle
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: [
        "src/**/*.test.ts",
        "src/**/*.test-d.ts",
        // Run on a thread, or in a sandbox's process alone, where nothing is counted.
        "src/**/*-worker.ts",
        "src/chains/drivers/**/{inside,inside-*,monty-script,monty-values}.ts",
      ],
      reporter: ["text-summary", "html"],
      reportsDirectory: "coverage",
      // Floors, to be raised and never lowered. What only child processes run (the command line, main.ts) is not counted.
      thresholds: {
        lines: 90,
        branches: 84,
        "src/gates/**": { branches: 100 },
        "src/audit/**": { branches: 100 },
        "src/invoke.ts": { branches: 100 },
      },
    },
  },
});
