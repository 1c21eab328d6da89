import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ended, PosternProcess } from "../fakes/postern-process.ts";

const postern = new PosternProcess();
const bin = join(import.meta.dirname, "../../packages/postern/bin/postern.js");
const file = join(postern.folder, "postern.yaml");
let child: ChildProcess;
let end: Promise<unknown>;

/** As in a container, whose configuration is mounted read-only. */
beforeAll(async () => {
  writeFileSync(file, `${readFileSync(file, "utf8")}console: { edit_policy: true }\n`);
  const bound = ["--dev-bind", "/", "/", "--ro-bind", file, file];
  const words = [...bound, "--die-with-parent", process.execPath, bin, "start", "--data", ".postern"];
  child = spawn("bwrap", words, { cwd: postern.folder, stdio: ["pipe", "pipe", "pipe"] });
  end = ended(child);
  const serves = Promise.withResolvers<void>();
  child.stdout?.on("data", (chunk: Buffer) => void (chunk.toString().includes("Try next") && serves.resolve()));
  void end.then((how) => serves.reject(new Error(JSON.stringify(how))));
  await serves.promise;
}, 60_000);
afterAll(async () => {
  child.kill();
  await end;
  postern[Symbol.dispose]();
});

it("refuses to save a policy on a read-only mount by name, and reloads what comes from outside", async () => {
  const data = join(postern.folder, ".postern");
  const { url } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
  const token = readFileSync(join(data, "operator.token"), "utf8").trim();
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return response.json();
  };
  const whyNot = `\`${file}\` lies on a read-only mount. Change the file where it comes from, then run \`postern policy reload\`.`;
  const document = await ask("GET", "/v1/policy/text");
  expect(document).toMatchObject({ editable: false, why_not: whyNot });
  const text = "policy:\n  default: deny\n";
  const { digest } = document as { readonly digest: string };
  expect(await ask("POST", "/v1/policy/save", { text, expected_digest: digest, activate: true })).toMatchObject({
    error: { code: "policy_not_editable", message: whyNot },
  });
  writeFileSync(file, `${readFileSync(file, "utf8")}${text}`);
  expect(await ask("POST", "/v1/policy/reload", {})).toMatchObject({
    changes: ["`policy.default` was not set and is `deny` now."],
  });
});
