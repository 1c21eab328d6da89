import { expect, it } from "vitest";
import { agentsIfInstalled, agentsPackage } from "./agents-package.ts";

const missing = (): Promise<never> =>
  Promise.reject(
    Object.assign(new Error("Cannot find package '@postern/agents' imported from /app/x.js"), {
      code: "ERR_MODULE_NOT_FOUND",
    }),
  );

it("names the install command if the agents package is missing", async () => {
  await expect(agentsPackage("`agent run`", missing)).rejects.toMatchObject({
    code: "dependency_missing",
    message: "`agent run` needs the package `@postern/agents`: run `npm install @postern/agents`.",
  });
  expect(await agentsIfInstalled(missing)).toBeUndefined();
});

it("passes on why an installed agents package cannot be loaded", async () => {
  const broken = (): Promise<never> => Promise.reject(new SyntaxError("Unexpected token"));
  await expect(agentsIfInstalled(broken)).rejects.toThrow("Unexpected token");
});
