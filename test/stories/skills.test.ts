import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { defineSkill, openSkills } from "../../packages/postern/src/builtin/index.ts";
import { type CallEvent, createRuntime, defineTool, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { createPolicy } from "../../packages/postern/src/policy/index.ts";
import { Toolbox } from "../../packages/postern/src/tools/toolbox.ts";
import { skilled } from "../../packages/postern/src/tools/toolsets/wrappers.ts";
import { CommandLine } from "../fakes/command-line.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, boss, eventTypes, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { skillText, writeSkill } from "../fakes/skill-folder.ts";

const folder = ownFolder();
beforeAll(() => {
  writeSkill(
    folder,
    "letters",
    skillText("name: letters\ndescription: Writes letters.\nallowed-tools: mail gone", "# Letters\n\nBe short."),
    {
      "references/forms.md": "Dear Sir",
      "assets/dot.png": Buffer.from("89504e470d0a1a0a00", "hex"),
    },
  );
  writeSkill(folder, "tables", skillText("name: tables\ndescription: Drops tables.\nallowed-tools: drop", "# Tables"));
  writeSkill(folder, "free", skillText("name: free\ndescription: Restricts nothing.", "# Free"));
  writeSkill(folder, "odd", skillText("name: odd"));
});

const elsewhere = defineSkill({ name: "elsewhere", instructions: "Read.", allowedTools: ["Read", "Bash"] });
const run = { tenant: "default", runId: "run_1" };
const context = { ...asker, runId: "run_1", patience: "deny" } as const;
/** Every tool may run unasked, so that only a skill can refuse it. */
const open: RuntimeOptions = {
  policy: { maxRiskUnapproved: "critical", allowUnattendedCritical: true },
  skills: { folders: [folder] },
};
const call = (at: RuntimeFixture, tool: string, args: object = {}) =>
  at.runtime.invoke({ tool, arguments: args as Record<string, string> }, context);

describe("a run restricted to a skill", () => {
  it("can call what the skill allows and the skill tools; everything else is denied by name", async () => {
    await using at = await runtimeFixture(open);
    expect(await call(at, "echo", { to: "x" })).toMatchObject({ status: "ok" });
    expect(await call(at, "skills", { action: "activate", name: "letters" })).toMatchObject({
      status: "ok",
      text: expect.stringContaining("# Letters"),
    });
    const denied = await call(at, "echo", { to: "x" });
    expect(denied.refusal).toMatchObject({ code: "permission_denied", message: expect.stringContaining("`letters`") });
    expect(await call(at, "mail", { to: "x" })).toMatchObject({ status: "ok" });
    for (const [tool, args] of [
      ["list_skills", {}],
      ["load_skill", { skill_id: "tables" }],
      ["skills", { action: "list" }],
    ] as const)
      expect(await call(at, tool, args), tool).toMatchObject({ status: "ok" });
    const other = await at.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, { ...context, runId: "run_2" });
    expect(other.status).toBe("ok");
  });

  it("is restricted to the union of several, and only the host ends that", async () => {
    await using at = await runtimeFixture(open);
    const { skills } = at.runtime;
    await skills?.activate(run, "letters");
    await skills?.activate(run, "tables");
    await skills?.activate(run, "free");
    expect((await call(at, "mail", { to: "x" })).status).toBe("ok");
    expect((await call(at, "drop", { to: "x" })).status).toBe("ok");
    expect((await call(at, "echo", { to: "x" })).status).toBe("denied");
    await skills?.deactivate(run, "letters");
    await skills?.deactivate(run, "tables");
    expect((await call(at, "echo", { to: "x" })).status).toBe("ok");
  });

  it("gains nothing: what configuration denies stays denied, whatever a skill asks for (case 147)", async () => {
    const policy = { ...open.policy, rules: [{ effect: "deny", tool: "drop" }] } as const;
    await using at = await runtimeFixture({ ...open, policy });
    await at.runtime.skills?.activate(run, "tables");
    expect((await call(at, "drop", { to: "x" })).refusal?.code).toBe("permission_denied");
    expect(at.ran).toEqual([]);
    const facts = at.runtime.offered().map((action) => action.facts);
    const requests = at.runtime.skills?.requests(run) ?? [];
    const report = createPolicy(policy).effective?.(facts, { principal: asker.principal, requests });
    expect(report?.lines.find(({ tool }) => tool === "drop")).toMatchObject({
      verdict: "DENY",
      requestedBy: ["tables"],
    });
  });

  it("may call what a skill asks for and configuration allows (case 148)", async () => {
    const policy = { ...open.policy, default: "deny", rules: [{ effect: "allow", tool: "drop" }] } as const;
    await using at = await runtimeFixture({ ...open, policy });
    await at.runtime.skills?.activate(run, "tables");
    expect((await call(at, "drop", { to: "x" })).status).toBe("ok");
  });

  it("ignores an unregistered tool with a warning (case 155)", async () => {
    const messages: string[] = [];
    await using at = await runtimeFixture({ ...open, log: (message) => void messages.push(message) });
    const letters = at.runtime.skills?.find("letters");
    expect(letters && at.runtime.skills?.unknownTools(letters)).toEqual(["gone"]);
    await at.runtime.skills?.activate(run, "letters");
    expect(messages).toContain(
      "Skill `letters`: `allowed-tools` names `gone`, which is not registered; it is ignored.",
    );
    expect((await call(at, "gone")).refusal?.code).toBe("tool_unknown");
  });

  it("answers that a skill whose tools are all elsewhere allows no tool here", async () => {
    await using at = await runtimeFixture({ ...open, skills: { folders: [], skills: [elsewhere] } });
    const { text } = await call(at, "skills", { action: "activate", name: "elsewhere" });
    expect(text).toContain(
      "But `allowed-tools` names only tools that are not registered here (`Read`, `Bash`), so this skill allows no tool here",
    );
    expect((await call(at, "echo", { to: "x" })).status).toBe("denied");
    await using http = await httpFixture(at.runtime);
    const listed = await (await http.ask("/v1/skills", { as: "operator" })).text();
    expect(listed).toContain("so this skill allows no tool here");
  });

  it("has its instructions at the end of its prompt, and a shorter list of tools (case 239)", async () => {
    await using at = await runtimeFixture(open);
    const { skills } = at.runtime;
    const box = new Toolbox(
      ["echo", "mail", "load_skill"].map((name) =>
        defineTool({ name, description: name, risk: "safe", idempotent: true, execute: () => name }),
      ),
    );
    const offered = skilled(box, () => skills?.activeFor(run.tenant, run.runId));
    const prompt = (): string =>
      ["You help.", skills?.roster(), skills?.instructions(run)].filter(Boolean).join("\n\n");
    expect(prompt().endsWith("</available_skills>")).toBe(true);
    expect(offered.tools()).toHaveLength(3);
    await skills?.activate(run, "free");
    await skills?.activate(run, "letters");
    expect(prompt().endsWith("# Free\n\n# Skill: letters\n\n# Letters\n\nBe short.")).toBe(true);
    expect(offered.tools().map(({ name }) => name)).toEqual(["mail", "load_skill"]);
  });

  it("is still restricted after a restart, and the log says once what was found", async () => {
    const data = join(folder, "..", `${folder.split("/").at(-1)}-data.db`);
    {
      await using at = await runtimeFixture({ ...open, store: `sqlite:${data}` });
      await at.runtime.skills?.activate(run, "letters");
    }
    await using at = await runtimeFixture({ ...open, store: `sqlite:${data}` });
    expect((await call(at, "echo", { to: "x" })).refusal?.code).toBe("permission_denied");
    expect(at.runtime.skills?.instructions(run)).toContain("Be short.");
    expect((await eventTypes(at.runtime)).filter((type) => type === "skill.indexed")).toHaveLength(1);
  });

  it("is checked again when an approved call continues: a newer skill refuses it", async () => {
    await using at = await runtimeFixture({ skills: { folders: [folder] } });
    const held = await at.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { ...context, patience: "suspend" });
    expect(held.status).toBe("pending");
    await at.runtime.skills?.activate(run, "tables");
    const id = held.approvalId ?? "";
    await at.runtime.approvals.decide(id, { decision: "approved", by: boss });
    expect((await at.runtime.resume(id))?.refusal?.code).toBe("permission_denied");
    expect(at.ran).toEqual([]);
  });
});

describe("the skill tools", () => {
  it("name the mistake: no name, an unknown one, an invalid action (case 240)", async () => {
    await using at = await runtimeFixture(open);
    expect(await call(at, "skills", { action: "activate" })).toMatchObject({
      status: "error",
      text: expect.stringContaining("`activate` needs `name`"),
    });
    expect(await call(at, "skills", { action: "activate", name: "nope" })).toMatchObject({
      status: "error",
      text: "There is no skill `nope`; `list_skills` lists them.",
    });
    expect(await call(at, "skills", { action: "foo" })).toMatchObject({ refusal: { code: "arguments_invalid" } });
    expect(at.runtime.skills?.active(run)).toEqual([]);
  });

  it("list skills and answer an unknown id clearly, without changing a grant (case 241)", async () => {
    await using at = await runtimeFixture(open);
    expect((await call(at, "list_skills")).structured).toMatchObject({
      skills: [
        { skill_id: "free" },
        { skill_id: "letters", description: "Writes letters.", active: false },
        { skill_id: "tables" },
      ],
    });
    expect(await call(at, "load_skill", { skill_id: "x" })).toMatchObject({
      status: "error",
      text: "There is no skill `x`; `list_skills` lists them.",
    });
    expect(await call(at, "load_skill", { skill_id: "letters" })).toMatchObject({
      status: "ok",
      text: expect.stringContaining("# Letters"),
    });
    expect(at.runtime.skills?.activeFor("default", "run_1")).toBeUndefined();
    expect((await call(at, "echo", { to: "x" })).status).toBe("ok");
  });

  it("read only the files of a skill; each read is announced", async () => {
    await using at = await runtimeFixture(open);
    const said: (readonly [string, unknown])[] = [];
    using _watching = at.runtime.watch((event: CallEvent) => {
      if (event.moment === "emitted") said.push([event.type, event.data]);
    });
    const read = (path: string) => call(at, "load_skill", { skill_id: "letters", path });
    expect((await read("references/forms.md")).text).toBe("Dear Sir");
    const [image] = (await read("assets/dot.png")).content;
    expect(image).toMatchObject({ type: "image", mediaType: "image/png" });
    expect(await read("../tables/SKILL.md")).toMatchObject({
      status: "error",
      text: expect.stringContaining("holds `..`"),
    });
    await call(at, "list_skills");
    await call(at, "load_skill", { skill_id: "letters" });
    expect(said).toEqual([
      ["file.read", { skill: "letters", path: "references/forms.md", bytes: 8 }],
      ["file.read", { skill: "letters", path: "assets/dot.png", bytes: 9 }],
      ["file.rejected", { skill: "letters", path: "../tables/SKILL.md", reason: "parent" }],
      ["skill.indexed", { count: 3 }],
      ["skill.loaded", expect.objectContaining({ skill: "letters", version: "1.0", active: false })],
    ]);
  });

  it("are ordinary tools: a gate can refuse them, and a name that is taken is reported at the start", async () => {
    const policy = { ...open.policy, rules: [{ effect: "deny", tool: "load_skill" }] } as const;
    await using at = await runtimeFixture({ ...open, policy });
    expect((await call(at, "load_skill", { skill_id: "letters" })).refusal?.code).toBe("permission_denied");
    const mine = defineTool({ name: "skills", description: "mine", risk: "safe", idempotent: true, execute: () => "" });
    await expect(createRuntime({ ...open, tools: [mine] })).rejects.toMatchObject({
      code: "tool_name_invalid",
      message: expect.stringContaining("`skills`"),
    });
  });
});

it("come with skills that were opened already, and without skills there are none", async () => {
  const skills = await openSkills({
    folders: [],
    skills: [defineSkill({ name: "one", instructions: "x", allowedTools: ["mail"] })],
  });
  await using at = await runtimeFixture({ ...open, skills });
  expect(at.runtime.skills).toBe(skills);
  await skills.activate(run, "one");
  expect((await call(at, "echo", { to: "x" })).status).toBe("denied");
  await using bare = await runtimeFixture();
  expect(bare.runtime.skills).toBeUndefined();
  expect(bare.runtime.tools.has("list_skills")).toBe(false);
});

describe("skills for people", () => {
  it("are listed over HTTP, and only an operator restricts a run to one", async () => {
    await using at = await runtimeFixture(open);
    await using http = await httpFixture(at.runtime);
    const listed = (await (await http.ask("/v1/skills", { as: "operator" })).json()) as Record<string, unknown>;
    expect(listed).toMatchObject({
      skills: [
        { name: "free" },
        { name: "letters", allowed_tools: ["mail", "gone"], warnings: [expect.stringContaining("`gone`")] },
        { name: "tables" },
      ],
      refused: [{ path: join(folder, "odd"), problem: "it has no description" }],
    });
    const change = (verb: string, name: string, as: "agent" | "operator" = "operator") =>
      http.ask(`/v1/skills/${name}/${verb}`, { as, body: { run_id: "run_1" } });
    expect((await change("activate", "letters", "agent")).status).toBe(403);
    expect(await (await change("activate", "letters")).json()).toEqual({ run_id: "run_1", active: ["letters"] });
    expect((await change("activate", "nope")).status).toBe(404);
    expect(await (await change("deactivate", "letters")).json()).toEqual({ run_id: "run_1", active: [] });
    await using bare = await runtimeFixture();
    await using empty = await httpFixture(bare.runtime);
    expect(await (await empty.ask("/v1/skills", { as: "operator" })).json()).toEqual({
      skills: [],
      refused: [],
      notes: [],
    });
    expect((await empty.ask("/v1/skills/x/activate", { as: "operator", body: { run_id: "r" } })).status).toBe(404);
  });

  it("are listed, checked and switched by the command; exit code 1 when one is refused", async () => {
    using postern = new CommandLine();
    const own = join(postern.folder, "skills");
    writeSkill(own, "letters", skillText("name: Letters\ndescription: ["));
    appendFileSync(join(postern.folder, "postern.yaml"), "skills:\n  folders: [skills]\n");
    expect(await postern.run("skills", "check")).toMatchObject({ code: 1, out: expect.stringContaining("not YAML") });
    writeSkill(own, "letters", skillText("name: Letters\ndescription: Writes \u001b[31mletters.\nallowed-tools: echo"));
    expect(await postern.run("skills", "check")).toMatchObject({
      code: 0,
      out: expect.stringContaining("name `Letters`: only a-z, 0-9 and hyphens."),
    });
    expect(JSON.parse((await postern.run("skills", "list", "--json")).out)).toMatchObject({
      skills: [{ name: "Letters" }],
    });
    expect((await postern.run("skills")).out).toMatch(/Letters .*␛\[31mletters/);
    expect(await postern.run("skills", "activate", "Letters", "--run", "run_9")).toMatchObject({
      code: 0,
      out: "Active in run run_9: Letters.\n",
    });
    expect((await postern.run("call", "fail", "--run", "run_9")).code).toBe(3);
    expect((await postern.run("call", "echo", "text=hi", "--run", "run_9")).out).toContain("hi");
    expect((await postern.run("skills", "deactivate", "Letters", "--run", "run_9")).out).toBe(
      "Active in run run_9: none.\n",
    );
    expect(await postern.run("skills", "check", "nowhere")).toMatchObject({
      code: 1,
      out: expect.stringContaining("it does not exist."),
    });
    expect((await postern.runIn(own, "skills", "check")).code).toBe(2);
  }, 60_000);
});
