import { afterAll, describe, expect, it } from "vitest";
import { ConfigFolder, problemsOf } from "../../../../../test/fakes/config-folder.ts";
import { configSnapshot } from "../../config/snapshot.ts";

const configs = new ConfigFolder();
afterAll(() => configs[Symbol.dispose]());

const hook = "name: hook, url: https://hooks.example/in, secret: secret://hooks/key";
const written = (more: string): string => `channels:\n  webhooks:\n    - { ${more} }\n`;

describe("the channels of a configuration", () => {
  it("are empty by default", async () => {
    expect((await configs.load("version: 1\n")).channels).toBeUndefined();
  });

  it("are the same in a file and in code", async () => {
    const file = `${written(`${hook}, allow_private: true, events: [approval.requested], users: { U1: ann }`)}  console_url: https://postern.example/\n`;
    const code = `export default { channels: { consoleUrl: "https://postern.example/", webhooks: [{
      name: "hook", url: "https://hooks.example/in", secret: "secret://hooks/key", allowPrivate: true,
      events: ["approval.requested"], users: { U1: "ann" } }] } };`;
    const answered = {
      consoleUrl: "https://postern.example",
      webhooks: [
        {
          ...{ name: "hook", url: "https://hooks.example/in", secret: "secret://hooks/key", allowPrivate: true },
          ...{ events: ["approval.requested"], users: { U1: "ann" } },
        },
      ],
    };
    expect((await configs.load(file)).channels).toEqual(answered);
    expect((await configs.load(code, { ending: "mjs" })).channels).toEqual(answered);
  });

  it.each([
    ["without a secret", "name: hook, url: https://hooks.example/in", "needs `secret`"],
    [
      "whose deciders are unknown",
      "name: hook, kind: slack, url: https://hooks.example/in, users: { U1: ann }",
      "`users` need `secret`",
    ],
    ["at no address", "name: hook, url: hooks.example, secret: secret://hooks/key", "https://"],
    ["over ftp", "name: hook, url: ftp://hooks.example, secret: secret://hooks/key", "https://"],
    ["of a name that is no part of an address", hook.replace("name: hook", "name: My Hook"), "a-z 0-9"],
    ["for an event there is none of", `${hook}, events: [approval.request]`, "approval.requested"],
    ["with an unknown key", `${hook}, allow_privat: true`, "allow_private"],
  ])("refuse one %s, and say what to write", async (_, more, answered) => {
    expect((await problemsOf(configs.load(written(more)))).join("\n")).toContain(answered);
  });

  const app = "name: team, channel: C012, token: secret://slack/token";
  const writtenApp = (more: string): string => `channels:\n  slack:\n    - { ${more} }\n`;

  it("may hold an app of Slack", async () => {
    const slack = { name: "team", channel: "C012", token: "secret://slack/token" };
    expect((await configs.load(writtenApp(app))).channels).toEqual({ webhooks: [], slack: [slack] });
  });

  it.each([
    ["whose token stands in the file", "name: team, channel: C012, token: xoxb-1", "secret://connector/key"],
    ["with the name of a channel", "name: team, channel: '#ops', token: secret://slack/token", "id of the channel"],
    ["whose presses cannot be checked", `${app}, users: { U1: ann }`, "`users` need `signing_secret`"],
  ])("refuses an app %s", async (_, more, answered) => {
    expect((await problemsOf(configs.load(writtenApp(more)))).join("\n")).toContain(answered);
  });

  it("refuses two with one name", async () => {
    const two = `channels:\n  webhooks:\n    - { ${hook} }\n    - { ${hook} }\n`;
    expect((await problemsOf(configs.load(two))).join("\n")).toContain("same `name`");
  });

  it.each([
    ["channels: { console_url: https://gate.example:8443/ }", "https://gate.example:8443"],
    [
      "listen: { public_url: https://gate.example }\nchannels: { console_url: https://other.example }",
      "https://gate.example",
    ],
    ["channels: { console_url: https://gate.example/postern }", undefined], // no browser's `Origin` has a path
    ["channels: { console_url: http://10.0.0.7:7420 }", undefined],
    ["{}", undefined],
  ])("say with their `console_url` how people reach Postern: %s", async (text, publicUrl) => {
    expect((await configs.load(text)).listen.publicUrl).toBe(publicUrl);
  });

  it("are in the configuration of each run, with masked addresses", async () => {
    const slack = "name: slack, kind: slack, url: https://hooks.slack.example/services/T0/very-secret";
    const snapshot = configSnapshot(await configs.load(written(slack)));
    expect(snapshot).toContain("name: slack");
    expect(snapshot).toContain("https://hooks.slack.example/");
    expect(snapshot).not.toContain("very-secret");
  });

  it("never repeats a secret that was written instead of its reference", async () => {
    const problems = await problemsOf(
      configs.load(written(hook.replace("secret://hooks/key", "whsec_aGVsbG8gd29ybGQ"))),
    );
    expect(problems.join("\n")).toContain("secret://connector/key");
    expect(problems.join("\n")).not.toContain("aGVsbG8");
  });
});
