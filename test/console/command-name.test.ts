import { afterEach, expect, it } from "vitest";
import { problemOf } from "../../console/src/api/client.ts";
import { refusalText, setCommandName, withCommandName } from "../../console/src/api/command-name.ts";

const elsewhere = "npx postern --data '/srv/$& and $1'";

afterEach(() => setCommandName());

it("writes commands as the session gives them, and plainly before it is known", () => {
  expect(withCommandName("Run `postern alarms` and `postern audit verify`.")).toBe(
    "Run `postern alarms` and `postern audit verify`.",
  );
  setCommandName(elsewhere);
  expect(withCommandName("Run `postern alarms` and `postern audit verify`.")).toBe(
    `Run \`${elsewhere} alarms\` and \`${elsewhere} audit verify\`.`,
  );
});

it("rewrites commands in refusals of the server, and not in the text of a tool", async () => {
  setCommandName(elsewhere);
  const answered = (code: string): Response =>
    Response.json({ error: { code, message: "see `postern tools`" } }, { status: 404 });
  expect((await problemOf(answered("tool_unknown"))).message).toBe(`see “${elsewhere} tools”`);
  expect(refusalText("approval_decided", "The approval `apr_01a2-b` is approved by ada already.")).toBe(
    "This request is approved by ada already.",
  );
  for (const code of ["tool_failed", "approval_denied"])
    expect(refusalText(code, "see `postern tools`")).toBe("see `postern tools`");
});
