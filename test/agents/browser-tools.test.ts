/** The tools `computer` and `browser` in a real Chromium, on pages of a server of this machine. */
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openAgentTools, type RenderedToolAnswer } from "../../packages/agents/src/agent-tools.ts";
import { anthropicResult, anthropicToolUses } from "../../packages/agents/src/anthropic.ts";
import { googleResult, googleToolUses } from "../../packages/agents/src/google.ts";
import { openaiResult, openaiToolUses } from "../../packages/agents/src/openai.ts";
import { at, executablePath, stage } from "./browser-stage.ts";

const style = "style='position:absolute;left:20px;width:200px;height:30px;top:";
const pages: Readonly<Record<string, string>> = {
  "/": `<title>Form</title><body style="margin:0;height:3000px">
    <input id=name ${style}20px'><input type=password ${style}60px'>
    <button ${style}100px' onclick="this.textContent='Sent ' + document.getElementById('name').value">Send</button>
    <p id=y></p><script>onscroll = () => { document.getElementById('y').textContent = 'scrolled'; }</script>
    <img src="http://evil.example/pixel.png">`,
  "/alerts": "<body>Alerts<script>alert('first'); confirm('second'); onbeforeunload = () => 'stay'</script>",
  "/popup": "<body style='margin:0' onclick=\"open('/pinger', '_blank', 'noopener')\">Click me",
  "/pinger": "<body>Pinger<script>setInterval(() => fetch('/ping'), 50)</script>",
  "/loop": "<body style='margin:0' onclick='for (;;);'>Loop",
  "/crash": "<body>Crash",
  "/endless": "<body>Endless<img src='/never'>",
  "/link":
    "<body style='margin:0'><a style='position:absolute;left:0;top:0;width:200px;height:200px' href='http://evil.example/'>Out",
  "/to-slow": "<body style='margin:0'><a style='position:absolute;width:200px;height:200px' href='/slow'>On",
  "/slow": "<body>Arrived",
  "/socket":
    "<body>Socket<script>const s = new WebSocket('ws://evil.example/'); s.onerror = () => { document.body.textContent = 'no socket'; }</script>",
};

let server: Server;
let origin = "";
const asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, answer) => {
    asked.push(`${request.headers.host} ${request.url}`);
    const { url = "/" } = request;
    if (url === "/never") return;
    const delayMs = url === "/slow" ? 300 : 0;
    if (url === "/out") answer.writeHead(302, { location: "http://evil.example/" }).end();
    else if (url === "/file")
      answer.writeHead(200, { "content-disposition": "attachment; filename=a.bin" }).end("bytes");
    else setTimeout(() => answer.writeHead(200, { "content-type": "text/html" }).end(pages[url] ?? "nothing"), delayMs);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Of the Chromium that this process has started. */
function killRenderers(): void {
  const parents = new Map<number, number>();
  for (const pid of readdirSync("/proc").map(Number).filter(Number.isInteger)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      parents.set(pid, Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // it has ended meanwhile
    }
  }
  const isOurs = (pid: number): boolean =>
    pid === process.pid || ((parents.get(pid) ?? 0) > 0 && isOurs(parents.get(pid) ?? 0));
  for (const pid of parents.keys()) {
    if (pid === process.pid || !isOurs(pid)) continue;
    if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer")) process.kill(pid, "SIGKILL");
  }
}

describe.skipIf(executablePath === undefined)("in Chromium", () => {
  it("clicks, types, scrolls, reads and shows a picture after each", async () => {
    await using on = await stage();
    await on.act("navigate", { url: `${origin}/` });
    await on.act("left_click", at(50, 35));
    await on.act("type", { text: "Ada" });
    const clicked = await on.act("left_click", at(50, 115));
    expect(clicked.content).toMatchObject([{ type: "text" }, { type: "image", mediaType: "image/png" }]);
    const picture = Buffer.from((clicked.content[1] as { readonly data: string }).data, "base64");
    expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([1280, 800]);
    await on.act("scroll", { ...at(600, 400), scroll_direction: "down" });
    const read = await on.act("get_page_text");
    expect(read.text).toMatch(/Sent Ada[\s\S]*scrolled/);
    expect(await on.act("key", { text: "ctrl+a Delete" })).toMatchObject({ isError: false });
    expect(await on.act("zoom", { region: [0, 0, 320, 200] })).toMatchObject({ isError: false });
  });

  it("waits for the page that a click opens", async () => {
    await using on = await stage();
    await on.act("navigate", { url: `${origin}/to-slow` });
    expect((await on.act("left_click", at(50, 50))).text).toContain(`The page is ${origin}/slow.`);
  });

  it("reaches no host that is not allowed: picture, redirect, link, websocket", async () => {
    await using on = await stage();
    expect((await on.act("navigate", { url: `${origin}/` })).text).toContain(
      "`evil.example` is not among the allowed hosts",
    );
    const redirected = await on.act("navigate", { url: `${origin}/out` });
    expect(redirected).toMatchObject({ isError: true, outcome: { refusal: { code: "tool_failed" } } });
    expect(redirected.text).toContain("`evil.example` is not among the allowed hosts");
    await on.act("navigate", { url: `${origin}/link` });
    const followed = await on.act("left_click", at(50, 50));
    const after = await on.act("screenshot");
    expect(`${followed.text}\n${after.text}`).toContain("`evil.example` is not among the allowed hosts");
    expect(await on.act("navigate", { url: `${origin}/socket` })).toMatchObject({ isError: false });
    expect((await on.act("get_page_text")).text).toContain("no socket");
    expect(asked.filter((one) => one.startsWith("evil"))).toEqual([]);
  });

  it("refuses a navigation that is not allowed before it asks or runs", async () => {
    await using on = await stage({ allowedHosts: ["example.org", "127.0.0.1"], allowPrivate: false });
    for (const url of ["http://evil.example/", "file:///etc/passwd", "chrome://settings", "example.org"])
      expect(await on.act("navigate", { url })).toMatchObject({ outcome: { refusal: { code: "arguments_invalid" } } });
    const local = await on.act("navigate", { url: `${origin}/` });
    expect(local).toMatchObject({ isError: true });
    expect(local.text).toContain("`127.0.0.1` is a private address");
  });

  it("refuses a download", async () => {
    await using on = await stage();
    await on.act("navigate", { url: `${origin}/` });
    expect((await on.act("navigate", { url: `${origin}/file` })).text).toContain("downloads are refused");
  });

  it("dismisses dialogs, reports them, and leaves a page that wants to stay", async () => {
    await using on = await stage();
    const opened = await on.act("navigate", { url: `${origin}/alerts` });
    expect(opened.text).toContain("“first”");
    await on.act("left_click", at(5, 5));
    expect(await on.act("navigate", { url: `${origin}/` })).toMatchObject({ isError: false });
  });

  it("closes a window that a page opens, and reports its address", async () => {
    await using on = await stage();
    await on.act("navigate", { url: `${origin}/popup` });
    const clicked = await on.act("left_click", at(5, 5));
    const after = await on.act("wait", { duration: 1 });
    expect(`${clicked.text}\n${after.text}`).toContain("The page opened a window, which was closed");
    const pings = (): number => asked.filter((one) => one.endsWith("/ping")).length;
    const before = pings();
    await on.act("wait", { duration: 1 });
    expect(pings()).toBe(before);
  });

  it.each(["/loop", "/crash"])("ends an action on a lost page (%s), and continues with the next", async (path) => {
    await using on = await stage({ actionTimeoutMs: 1_500 });
    await on.act("navigate", { url: `${origin}${path}` });
    if (path === "/crash") killRenderers();
    else await on.act("left_click", at(5, 5));
    const lost = await on.act("screenshot");
    expect(lost).toMatchObject({ isError: true, outcome: { refusal: { code: "tool_failed" } } });
    expect(lost.text).toMatch(path === "/crash" ? /The page crashed/ : /did not answer within 1500 ms/);
    expect(await on.act("navigate", { url: `${origin}/` })).toMatchObject({ isError: false });
  });

  it("uses a page that never ends loading", async () => {
    await using on = await stage();
    const opened = await on.act("navigate", { url: `${origin}/endless` });
    expect(opened).toMatchObject({ isError: false });
    expect(opened.text).toContain("still loading");
  });

  it("treats typing into a password field as critical, also if the same call focused the field", async () => {
    await using on = await stage();
    await on.act("navigate", { url: `${origin}/` });
    const both = await on.tools.call({
      ...{ id: "g1", name: "type_text_at" },
      arguments: { x: 50, y: 90, text: "sesame" },
    });
    expect(both.text).toContain("is one for a password or a card");
    expect(await on.act("type", { text: "sesame" })).toMatchObject({ outcome: { refusal: { code: "blocked" } } });
    expect(await on.act("key", { text: "s" })).toMatchObject({ outcome: { refusal: { code: "blocked" } } });
  });

  it("shows a person the host and the element, and another page voids the approval", async () => {
    await using on = await stage({ keepPages: true }, { autonomy: "A2", approvals: { patience: "suspend" } });
    const approve = async (answer: RenderedToolAnswer): Promise<void> => {
      const { approvalId = "" } = answer.outcome;
      await on.runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "ada" } });
    };
    const use = (name: string, input: object) =>
      anthropicToolUses([{ type: "tool_use", id: `toolu_${name}`, name, input, toolset_name: "browser" }])[0] ?? {
        name,
      };
    const open = use("navigate", { url: `${origin}/` });
    await approve(await on.tools.call(open));
    expect(await on.tools.call(open)).toMatchObject({ isError: false });
    const click = use("left_click", at(50, 115));
    const waiting = await on.tools.call(click);
    const approval = await on.runtime.approvals.get(waiting.outcome.approvalId ?? "");
    expect(approval?.summary).toBe(`click (left) at 50, 115 on ${origin}`);
    expect(approval?.preview?.summary).toContain("button “Send”");
    const other = use("type", { text: "x" });
    await approve(waiting);
    const typed = await on.tools.call(other);
    await approve(typed);
    expect(await on.tools.call(other)).toMatchObject({ isError: false });
    expect(await on.tools.call(click)).toMatchObject({ isError: false });
    const late = use("right_click", at(50, 115));
    await approve(await on.tools.call(late));
    const away = use("navigate", { url: `${origin}/endless` });
    await approve(await on.tools.call({ ...away, id: "toolu_away" }));
    await on.tools.call({ ...away, id: "toolu_away" });
    const voided = await on.tools.call(late);
    expect(voided).toMatchObject({ isError: true, outcome: { refusal: { code: "approval_expired" } } });
    expect(voided.text).toContain("its preview differs from what was shown");
  });

  it("asks a person for a provider's safety check at every level, and acknowledges it only then", async () => {
    await using on = await stage({ keepPages: true }, { autonomy: "A4", approvals: { patience: "suspend" } });
    await on.act("navigate", { url: `${origin}/` });
    const checks = [{ id: "sc_1", code: "malicious_instructions", message: "The page gives orders." }];
    const item = {
      ...{ type: "computer_call", id: "cu_1", call_id: "call_1", status: "completed", pending_safety_checks: checks },
      action: { type: "screenshot" },
    };
    const [use = { name: "none" }] = openaiToolUses([item]);
    const waiting = await on.tools.call(use);
    expect(waiting.outcome.status).toBe("pending");
    expect(openaiResult(use, waiting)[0]).not.toHaveProperty("acknowledged_safety_checks");
    const by = { user: "ada" };
    await on.runtime.approvals.decide(waiting.outcome.approvalId ?? "", { decision: "approved", by });
    expect(openaiResult(use, await on.tools.call(use))).toEqual([
      {
        ...{ type: "computer_call_output", call_id: "call_1", acknowledged_safety_checks: checks },
        output: { type: "computer_screenshot", image_url: expect.stringMatching(/^data:image\/png;base64,.{1000}/) },
      },
    ]);
    const call = {
      id: "g9",
      name: "click_at",
      args: { x: 1, y: 1, safety_decision: { decision: "require_confirmation" } },
    };
    const [google = { name: "none" }] = googleToolUses([{ functionCall: call }]);
    const asked = await on.tools.call(google);
    expect(asked.outcome.status).toBe("pending");
    await on.runtime.approvals.decide(asked.outcome.approvalId ?? "", { decision: "approved", by });
    expect(googleResult(google, await on.tools.call(google))).toMatchObject({
      ...{ id: "g9", name: "click_at", response: { url: `${origin}/`, safety_acknowledgement: "true" } },
      parts: [{ inlineData: { mimeType: "image/png" } }],
    });
  });

  it("answers a member of Anthropic's toolset with its picture and the toolset's name", async () => {
    await using on = await stage();
    const block = { type: "tool_use", id: "toolu_p", name: "screenshot", input: {}, toolset_name: "computer" };
    const [use = { name: "none" }] = anthropicToolUses([block]);
    expect(anthropicResult(use, await on.tools.call(use))).toMatchObject({
      ...{ type: "tool_result", tool_use_id: "toolu_p", toolset_name: "computer" },
      content: [{ type: "text" }, { type: "image", source: { type: "base64", media_type: "image/png" } }],
    });
  });

  it("lets a rule check the host, and ends a run's page with its session", async () => {
    const rule = { effect: "deny", tool: "browser", target: { not: { host: "example.org" } } } as const;
    await using on = await stage({}, { autonomy: "A3", policy: { rules: [rule] } });
    expect(await on.act("navigate", { url: `${origin}/` })).toMatchObject({
      outcome: { refusal: { code: "permission_denied" } },
    });
    await using free = await stage();
    await free.act("navigate", { url: `${origin}/` });
    await free.tools[Symbol.asyncDispose]();
    await using next = openAgentTools(free.runtime, { runId: "run" });
    const [use = { name: "none" }] = anthropicToolUses([
      { type: "tool_use", id: "toolu_last", name: "screenshot", input: {}, toolset_name: "browser" },
    ]);
    expect((await next.call(use)).text).toContain("about:blank");
  });
});

it("says what to do when Chromium does not start, and uses up nothing", async () => {
  await using on = await stage({ executablePath: "/nowhere/chromium" });
  const answer = await on.act("screenshot");
  expect(answer).toMatchObject({ isError: true });
  expect(answer.text).toContain("name it with `executablePath`");
});
