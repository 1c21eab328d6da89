import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { PosternProcess } from "../../../../test/fakes/postern-process.ts";

const cli = new PosternProcess();
afterAll(() => cli[Symbol.dispose]());
writeFileSync(
  join(cli.folder, "postern.yaml"),
  `listen: { port: 0 }
accounts: { openid: { issuer: "https://id.example", client_id: postern, label: Example } }
`,
);

const hook = new URL("../../../../test/fakes/without-package.mjs", import.meta.url);
const before = process.env["NODE_OPTIONS"];

function withoutPackage(): void {
  process.env["NODE_OPTIONS"] = `${before ?? ""} --import ${hook}`;
  process.env["WITHOUT_PACKAGE"] = "openid-client";
}

afterEach(() => {
  delete process.env["WITHOUT_PACKAGE"];
  if (before === undefined) delete process.env["NODE_OPTIONS"];
  else process.env["NODE_OPTIONS"] = before;
});

async function started(): Promise<string> {
  const { child, end } = await cli.start(join(cli.folder, ".postern"));
  child.kill("SIGTERM");
  await once(child, "close");
  return (await end).err;
}

const sentence = /accounts\.openid.*npm install openid-client/;

it("start says that OpenID is configured without the package that signs in", async () => {
  withoutPackage();
  expect(await started()).toMatch(sentence);
});

it("doctor warns of it too", async () => {
  withoutPackage();
  expect((await cli.run("doctor")).out).toMatch(sentence);
});

it("says nothing of it where the package is installed", async () => {
  expect(await started()).not.toMatch(sentence);
});
