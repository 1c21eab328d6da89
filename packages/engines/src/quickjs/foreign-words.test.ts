import { expect, it } from "vitest";
import { expectWork } from "../../../../test/fakes/in-time.ts";
import { foreignWord } from "./foreign-words.ts";

it.each([
  ["const page = await fetch('https://example.com');", /`fetch` \(line 1\).*call a tool/],
  ["const a = 1;\nconst fs = require('fs');", /`require` \(line 2\).*loads no modules/],
  ["const { x } = await import('node:fs');", /`import` \(line 1\)/],
  ["run(process.env.HOME)", /`process` \(line 1\)/],
  ["const socket = new WebSocket('ws://x')", /`WebSocket`/],
])("%j is refused before it begins", (source, words) => {
  expect(foreignWord(source)).toMatch(words);
});

it.each([
  "const fetch = tools.web.fetch; await fetch({ url: 'x' });",
  "await tools.web.fetch({ url: 'x' });",
  "const text = 'await fetch(1)'; // = require('x')",
  "/* await fetch(x) */ `= require(x)`",
  "class Http { fetch(url) { return url } }",
  "const get = (fetch) => fetch(1); get((x) => x)",
  "if (typeof fetch === 'function') await fetch('x')",
  "const order = { process: { env: 1 } }; order.process.env",
  "files.write('/workspace/a.js', \"const x = require('y')\")",
])("%j is the script's own", (source) => {
  expect(foreignWord(source)).toBeUndefined();
});

it("reads long sources in linear time", async () => {
  await expectWork(5_000, () => {
    for (const part of ["/*", "`", '"', "\n", "= ", "fetch ", "{fetch ", "\\", "'\\"])
      foreignWord(part.repeat(100_000));
  });
});
