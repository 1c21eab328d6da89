import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import { personalData } from "../../packages/postern/src/policy/index.ts";

const ran: string[] = [];
const input = z.object({ text: z.string() });
const common = { description: "Takes a text.", input };
const echo = defineTool({
  ...common,
  name: "echo",
  risk: "safe",
  effects: "read",
  idempotent: true,
  execute: ({ text }) => text,
});
const send = defineTool({
  ...common,
  name: "mail__send",
  risk: "medium",
  effects: "write",
  idempotent: false,
  execute: ({ text }) => {
    ran.push(`mail ${text.length}`);
    return "sent";
  },
});
const shell = defineTool({
  ...common,
  name: "shell",
  risk: "medium",
  effects: "write",
  idempotent: false,
  classifyRisk: ({ text }) => (/rm -rf/.test(text) ? { risk: "critical", summary: "deletes" } : { risk: "medium" }),
  execute: ({ text }) => {
    ran.push(`shell ${text.length}`);
    return "done";
  },
});

it("guardrails and the tool's risk check see the content behind a reference", async () => {
  await using runtime = await createRuntime({
    tools: [echo, send, shell],
    autonomy: "A3",
    approvals: { patience: "suspend" },
    guardrails: [personalData({ tools: ["mail__*"] })],
  });
  const session = runtime.openSession();
  const ask = (tool: string, text: unknown) => session.invoke({ tool, arguments: { text } as never }); // also a reference
  const behind = async (text: string): Promise<{ readonly $artifact: string }> => {
    const { artifact = "" } = await ask("echo", text);
    return { $artifact: artifact };
  };
  const long = (text: string): string => text.padEnd(5000, ".");
  const iban = long("Please pay to DE89370400440532013000 ");
  const deletes = long("rm -rf / # ");
  const harmless = long("ls # ");
  for (const [tool, text] of [
    ["mail__send", iban],
    ["shell", deletes],
  ] as const) {
    const inline = await ask(tool, text);
    const byReference = await ask(tool, await behind(text));
    expect([byReference.status, byReference.refusal?.code]).toEqual([inline.status, inline.refusal?.code]);
    expect(byReference.status).not.toBe("ok");
  }
  expect(ran).toEqual([]);
  expect((await ask("shell", await behind(harmless))).status).toBe("ok");
  expect((await ask("mail__send", await behind(harmless))).status).toBe("ok");
  expect(ran).toEqual(["shell 5000", "mail 5000"]);
});

it("guardrails check bytes that are no text as well", async () => {
  await using runtime = await createRuntime({
    tools: [
      defineTool({
        ...common,
        name: "snap",
        risk: "safe",
        effects: "read",
        idempotent: true,
        execute: ({ text }) => ({
          content: [
            {
              type: "image",
              mediaType: "image/png",
              data: Buffer.from(`\xff\x00${text}`, "latin1").toString("base64"),
            },
          ],
        }),
      }),
      defineTool({
        ...send,
        name: "upload",
        input: { type: "object", properties: { text: {} } },
        execute: () => "kept",
      }),
    ],
    autonomy: "A3",
    approvals: { patience: "suspend" },
    guardrails: [personalData({ tools: ["upload"] })],
  });
  const session = runtime.openSession();
  const { content } = await session.invoke({ tool: "snap", arguments: { text: "DE89370400440532013000" } });
  const digest = JSON.stringify(content).match(/sha256:[0-9a-f]{64}|[0-9a-f]{64}/)?.[0] ?? "";
  expect(digest).not.toBe("");
  const sent = await session.invoke({ tool: "upload", arguments: { text: { $artifact: digest } } });
  expect(sent.status).toBe("pending");
});

it("guardrails check references in lists, and text that only looks like a reference stays text", async () => {
  const seen: unknown[] = [];
  const many = z.object({ texts: z.array(z.unknown()) });
  await using runtime = await createRuntime({
    tools: [
      echo,
      defineTool({
        name: "store",
        description: "Keeps texts.",
        risk: "safe",
        effects: "read",
        idempotent: true,
        input: many,
        classifyRisk: (given) => {
          seen.push(given);
          return "safe";
        },
        execute: () => "kept",
      }),
    ],
    autonomy: "A3",
  });
  const session = runtime.openSession();
  const { artifact = "" } = await session.invoke({ tool: "echo", arguments: { text: "long".padEnd(5000, ".") } });
  const store = (texts: readonly unknown[]) => session.invoke({ tool: "store", arguments: { texts } as never });
  expect((await store([{ in: [{ $artifact: artifact }] }, 5, null])).status).toBe("ok");
  expect((await store([{ $artifact: 5 }])).status).toBe("ok");
  expect(seen).toEqual([{ texts: [{ in: ["long".padEnd(5000, ".")] }, 5, null] }, { texts: [{ $artifact: 5 }] }]);
});

it("refuses a call whose artifact disappears between the check and the read, and runs nothing", async () => {
  await using runtime = await createRuntime({
    tools: [echo, shell],
    autonomy: "A3",
    approvals: { patience: "suspend" },
  });
  const session = runtime.openSession();
  const { artifact = "" } = await session.invoke({ tool: "echo", arguments: { text: "ls # ".padEnd(5000, ".") } });
  Object.assign(runtime.artifacts, { open: () => Promise.reject(new Error("swept meanwhile")) });
  ran.length = 0;
  const outcome = await session.invoke({ tool: "shell", arguments: { text: { $artifact: artifact } } as never });
  expect([outcome.refusal?.code, ran]).toEqual(["artifact_unavailable", []]);
  expect(outcome.text).toContain("swept meanwhile");
});
